package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreException;
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
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Section 3 while the link keeps silent: a caller's time is the caller's, and waiters ride out what passes. */
@Section
public abstract class OutageRules {
    /** A client that stops or closes has begun to within that time. */
    private static final Duration ENDS_WITHIN = Duration.ofMillis(300);

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
    void anInterruptEndsTheWaitForRetiredHoldersWhileTheLinkIsSilent(TckFixture tck) throws Exception {
        onEachLink(tck, new CallersTime(tck)::interruptOfAwaitReleased);
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
        String name = tck.create(2);
        // Later the client has given the request up, and asks what became of it.
        for (Duration before : List.of(TimedCall.SOON, Outage.longerThanRequests(tck))) {
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
            new Observer(tck, tck.home().semaphore(name)).awaitFree(2, "the slots of an aborted client are free");
        }
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
    @Rule("3.14")
    void callersThatGaveUpDuringASilenceHoldNothingAfterIt(TckFixture tck) throws Exception {
        onEachLink(tck, new CallersTime(tck)::leavesNothing);
        new CallersTime(tck).leavesNothingForLong(Outage.halfOpen(tck));
    }
}
