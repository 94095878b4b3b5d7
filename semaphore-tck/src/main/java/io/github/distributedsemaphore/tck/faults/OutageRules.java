package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.Observer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Sections 3 and 4 while the link keeps silent or is cut: a caller's time is the caller's, and waiters ride out what passes. */
@Section
public abstract class OutageRules {
    /** A client that stops or closes has begun to within that time. */
    private static final Duration ENDS_WITHIN = Duration.ofMillis(300);

    /** Long enough for some more attempts that fail. */
    private static final int SOME_ATTEMPTS_MILLIS = 700;

    /** For subclasses. */
    protected OutageRules() {}

    private static void onEachLink(TckFixture tck, Consumer<Outage> rule) throws Exception {
        for (Outage outage : Outage.ofLink(tck)) {
            tck.inTime(() -> rule.accept(outage));
        }
    }

    @Test
    @Rule("3.9")
    void aTimeOutIsKeptWhileTheLinkIsSilent(TckFixture tck) throws Exception {
        onEachLink(tck, new CallersTime(tck)::timeOuts);
    }

    @Test
    @Rule("3.10")
    void anInterruptEndsAWaitWhileTheLinkIsSilent(TckFixture tck) throws Exception {
        onEachLink(tck, new CallersTime(tck)::interrupts);
    }

    @Test
    @Rule("3.10")
    void anInterruptEndsTheWaitForAnAnswerWhileTheLinkIsSilent(TckFixture tck) throws Exception {
        onEachLink(tck, new CallersTime(tck)::interruptsOfQuestions);
    }

    @Test
    @Rule("3.11")
    void aCallThatIsStuckHoldsUpNobodyElsesTimeOut(TckFixture tck) throws Exception {
        onEachLink(tck, new CallersTime(tck)::others);
    }

    @Test
    @Rule("3.12")
    void closingAClientWhileTheLinkIsSilentEndsItsWaitersAtOnce(TckFixture tck) throws Exception {
        tck.inTime(() -> new CallersTime(tck).closing(Outage.stalled(tck)));
    }

    @Test
    @Rule({"3.12", "2.2"})
    void anAbortWaitsForNobodyAndNobodyWaitsOn(TckFixture tck) {
        // Later the client has given the request up, and asks what became of it.
        for (Duration before : List.of(TimedCall.SOON, Outage.longerThanRequests(tck))) {
            String name = tck.create(2);
            Route route = tck.route();
            SemaphoreClient dying = route.client();
            List<Permit> permits = tck.take(dying.semaphore(name), 2);
            LinkFault stall = route.proxy().stall();
            Attempt<ReleaseOutcome> release =
                    Attempt.of(tck, "a release whose client is aborted after " + before, permits.get(0)::release);
            Pause.millis(before.toMillis());
            long since = System.nanoTime();
            dying.abort();
            long ended = System.nanoTime();
            release.ended();
            stall.heal();
            assertThat(Duration.ofNanos(ended - since - tck.stoodStill(since, ended)))
                    .as("time that an abort takes while the link is stalled")
                    .isLessThan(tck.scaled(Duration.ofSeconds(1)));
            if (tck.has(Capability.CRASH_RELEASE)) {
                new Observer(tck, tck.home().semaphore(name)).awaitFree(2, "the slots of an aborted client are free");
                tck.assertFree(name, 2);
            }
        }
    }

    /** What a task did is done, whatever becomes of its permit; close never throws. */
    @Test
    @Rule({"4.1", "13.1"})
    void aTaskHearsNothingOfAReleaseThatFails(TckFixture tck) throws Exception {
        String name = tck.create(5);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client().semaphore(name);
        CountDownLatch begun = new CountDownLatch(3);
        CountDownLatch go = new CountDownLatch(1);
        IOException planned = new IOException("planned");
        Task<Integer> task = tck.spawn(
                "a task",
                () -> semaphore.withPermit(tck.patience(), permit -> {
                    begun.countDown();
                    go.await();
                    return 7;
                }));
        Task<Throwable> fails = tck.spawn(
                "a task that fails",
                () -> catchThrowable(() -> semaphore.runWithPermit(tck.patience(), permit -> {
                    begun.countDown();
                    go.await();
                    throw planned;
                })));
        CompletableFuture<Integer> work = new CompletableFuture<>();
        CompletableFuture<Integer> async = semaphore.withPermitAsync(tck.patience(), permit -> {
            begun.countDown();
            return work;
        });
        PermitGroup group = semaphore.acquire(2, tck.patience());
        tck.await("three tasks begin", () -> begun.getCount() == 0);
        LinkFault refusal = route.proxy().cutOff();
        go.countDown();
        work.complete(8);
        Task<Boolean> close = tck.spawn("the close of a group", group::close);
        tck.await(
                "tasks and a group end although the backend is out of reach",
                tck.guarantees().callBound(),
                () -> task.isDone() && fails.isDone() && async.isDone() && close.isDone());
        assertThat(List.of(task.result(), async.join()))
                .as("what tasks return whose permits cannot be released")
                .containsExactly(7, 8);
        assertThat(fails.result()).as("the failure of a task").isSameAs(planned).hasNoSuppressedExceptions();
        assertThat(close.result()).isTrue();
        refusal.heal();
        new Observer(tck, tck.home().semaphore(name))
                .awaitFree(5, "what tasks held whose permits could not be released");
    }

    @Test
    @Rule({"4.6", "13.3"})
    void aReleaseThatFailedIsTriedAgainWhileTheClientHoldsAnother(TckFixture tck) {
        String name = tck.create(2);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client().semaphore(name);
        for (int round = 0; round < 2; round++) {
            List<Permit> permits = tck.take(semaphore, 2);
            LinkFault refusal = route.proxy().cutOff();
            Attempt<ReleaseOutcome> release = Attempt.of(tck, "release", permits.get(0)::release);
            assertTells(tck, release.ended(), permits.get(0));
            // In the second round the next tries fail as well.
            Pause.millis((long) round * SOME_ATTEMPTS_MILLIS);
            refusal.heal();
            new Observer(tck, tck.home().semaphore(name))
                    .awaitAtLeastFree(1, "a release that failed for a cut link is tried again when the link is whole");
            permits.get(1).close();
            new Observer(tck, tck.home().semaphore(name)).awaitFree(2, "both are released");
            Observer.assertWorks(tck, semaphore);
        }
        tck.assertFree(name, 2);
    }

    /** The link is cut, so the backend has confirmed nothing that the test client does not see. */
    private static void assertTells(TckFixture tck, Attempt<ReleaseOutcome> release, Permit permit) {
        String name = permit.semaphoreName();
        assertThat(permit.isValid()).as("a permit is valid after its release").isFalse();
        if (release.failed()) {
            assertThat(release.failure(name))
                    .as("a release that was not confirmed: the client goes on trying")
                    .isNotInstanceOf(BackendUnavailableException.class);
        } else if (release.value() == ReleaseOutcome.RELEASED) {
            assertThat(tck.home().semaphore(name).availablePermits())
                    .as("free after a release that ended as done while the link was cut")
                    .isPositive();
        }
        assertThat(Attempt.of(tck, "a second release", permit::release).ended().value())
                .as("what a second release found while the link was cut")
                .isIn(ReleaseOutcome.ALREADY_RELEASED, ReleaseOutcome.WAS_LOST);
    }

    /** It stands in no queue that a client goes through when it ends. */
    @Test
    @Rule({"3.7", "3.12", "1.8"})
    void anAttemptThatIsUnderWayGetsNothingOfAClientThatEnds(TckFixture tck) {
        String name = tck.create(1);
        for (boolean closes : new boolean[] {false, true}) {
            Route route = tck.route();
            SemaphoreClient leaving = route.client();
            DistributedSemaphore semaphore = leaving.semaphore(name);
            Observer.assertWorks(tck, semaphore);
            LinkFault stall = route.proxy().stall(Direction.ANSWERS);
            Task<Permit> attempt = tck.spawn(
                    "an attempt whose client ends",
                    () -> semaphore
                            .tryAcquire()
                            .orElseThrow(() -> new AssertionError("refused although the permit is free")));
            tck.await("the answer is held up", () -> stall.strikes() > 0);
            Task<Void> end = tck.spawn("the end of a client", () -> {
                if (closes) {
                    leaving.close();
                } else {
                    leaving.stopAcquiring();
                }
                return null;
            });
            Pause.millis(ENDS_WITHIN.toMillis());
            stall.heal();
            tck.await("an attempt ends whose client ends", attempt::isDone);
            attempt.failure(SemaphoreException.class);
            tck.await("a client ends", tck.guarantees().callBound().multipliedBy(5), end::isDone);
            new Observer(tck, tck.home().semaphore(name))
                    .awaitFree(1, "what was granted to a client that ends is free");
        }
    }

    @Test
    @Rule("3.13")
    void waitersRideOutASilentLink(TckFixture tck) {
        new CallersPatience(tck).ridesOut(Outage.stalled(tck));
    }

    @Test
    @Rule("3.13")
    void waitersGiveUpAfterTheirPatience(TckFixture tck) {
        new CallersPatience(tck).givesUp(Outage.stalled(tck));
    }

    @Test
    @Rule("3.13")
    void theWaitForRetiredHoldersRidesOutASilentLink(TckFixture tck) {
        new CallersPatience(tck).awaitReleasedRidesOut(Outage.stalled(tck));
    }

    @Test
    @Rule("3.13")
    void theWaitForRetiredHoldersGivesUpAfterItsPatience(TckFixture tck) {
        new CallersPatience(tck).awaitReleasedGivesUp(Outage.cut(tck));
    }

    @Test
    @Rule("3.14")
    void callersThatGaveUpDuringASilenceHoldNothingAfterIt(TckFixture tck) throws Exception {
        onEachLink(tck, new CallersTime(tck)::leavesNothing);
        new CallersTime(tck).leavesNothingForLong(Outage.halfOpen(tck));
    }
}
