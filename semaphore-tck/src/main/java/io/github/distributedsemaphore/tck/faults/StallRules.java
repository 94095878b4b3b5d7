package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Fence;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.Workload;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.run.TckTiming;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.Observer;
import io.github.distributedsemaphore.tck.watch.Waiters;
import io.github.distributedsemaphore.tck.watch.Watched;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Rules of sections 10 and 13 about a link that is silent or slow. */
@Section
public abstract class StallRules {
    /** How long a message takes from one continent to another, at most. */
    private static final Duration BETWEEN_CONTINENTS = Duration.ofMillis(75);

    private static final Duration AT_ONCE = Duration.ofMillis(300);

    private static final Duration HELD_UP = Duration.ofMillis(300);

    /** At different times between request and answer. */
    private static final int CALLS_THAT_END = 6;

    /** For subclasses. */
    protected StallRules() {}

    /** One client behind a link that goes one way only, or not at all. */
    private record Silenced(
            DistributedSemaphore semaphore,
            LinkFault stall,
            Attempt<Optional<Permit>> attempt,
            Attempt<Permit> waiter) {}

    /** As in a process that stood still: its answer was there before the limit was lowered, and is read afterwards. */
    @Test
    @Rule("8.7")
    void aGrantThatIsReadLateGivesNoLaterCallASlotThatWasRemovedMeanwhile(TckFixture tck) throws Exception {
        String name = tck.create(2);
        List<Permit> both = tck.take(tck.home().semaphore(name), 2);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client().semaphore(name);
        for (Permit permit : both) {
            if (permit.slot() == 2) {
                permit.release();
            }
        }
        Observer.assertWorks(tck, semaphore);
        LinkFault stall = route.proxy().stall(Direction.ANSWERS);
        CompletableFuture<Permit> left = semaphore.acquireAsync(tck.patience());
        // Where an acquire needs several answers nothing is taken meanwhile, and nothing can come late.
        Pause.millis(tck.guarantees().handOffBound().toMillis() + HELD_UP.toMillis());
        left.cancel(false);
        tck.home().admin().resize(name, 1);
        CompletableFuture<Permit> later = semaphore.acquireAsync(HELD_UP);
        if (stall.heal() == 0) {
            throw new FaultMissedException("no answer was held up, so none was read late");
        }
        tck.await("a call for a slot that was removed before it ends", later::isDone);
        assertThat(later.handle((permit, failure) -> permit == null ? "nothing" : "slot " + permit.slot())
                        .join())
                .as("what a call got that began after its slot was removed, while slot 1 is held")
                .isEqualTo("nothing");
        both.forEach(Permit::close);
        new Observer(tck, tck.home().semaphore(name)).awaitFree(1, "what was granted to a call that left goes back");
    }

    @Test
    @Rule("13.5")
    void aLinkThatIsSilentIsNoticedByEachCallInTime(TckFixture tck) throws Exception {
        String free = tck.create(6);
        String full = tck.create(1);
        Permit held = tck.take(tck.home().semaphore(full), 1).get(0);
        List<Silenced> all = new ArrayList<>();
        for (Direction[] directions :
                List.of(new Direction[0], new Direction[] {Direction.REQUESTS}, new Direction[] {Direction.ANSWERS})) {
            all.add(silenced(tck, directions, free, full));
        }
        for (Silenced one : all) {
            one.attempt().ended().failure(free);
            // A waiter first asks again: it may find out one operation later than a call does.
            one.waiter()
                    .endedWithin(Observer.settling(tck).plus(tck.guarantees().callBound()));
            one.waiter().failure(full);
            one.stall().close();
        }
        for (Silenced one : all) {
            Observer.assertWorks(tck, one.semaphore());
        }
        held.release();
        new Observer(tck, tck.home().semaphore(free)).awaitFree(6, "requests that arrive late take nothing for long");
        tck.assertFree(free, 6);
        new Observer(tck, tck.home().semaphore(full)).awaitFree(1, "waiters that were silenced leave nothing");
        tck.assertFree(full, 1);
    }

    private static Silenced silenced(TckFixture tck, Direction[] directions, String free, String full) {
        Route route = tck.route();
        SemaphoreClient client = route.client(ClientSpec.plain().with("outagePatience", "0s"));
        DistributedSemaphore semaphore = client.semaphore(free);
        Observer.assertWorks(tck, semaphore);
        Attempt<Permit> waiter = Attempt.of(
                tck,
                "a waiter behind a silent link",
                () -> client.semaphore(full).acquire(Duration.ofHours(1)));
        waiter.awaitBlocked();
        LinkFault stall = route.proxy().stall(directions);
        Attempt<Optional<Permit>> attempt = Attempt.of(tck, "tryAcquire behind a silent link", semaphore::tryAcquire);
        return new Silenced(semaphore, stall, attempt, waiter);
    }

    @Test
    @Rule("10.3")
    void whileTheBackendStallsTheAsynchronousMethodsReturnAtOnce(TckFixture tck) {
        String name = tck.create(7);
        Route route = tck.route();
        DistributedSemaphore semaphore =
                route.client(ClientSpec.plain().with("outagePatience", "0s")).semaphore(name);
        Observer.assertWorks(tck, semaphore);
        DistributedSemaphore holding = route.client(Waiters.lasting(tck)).semaphore(name);
        List<Permit> held = tck.take(holding, 2);
        CompletableFuture<Boolean> work = new CompletableFuture<>();
        CountDownLatch begun = new CountDownLatch(1);
        CompletableFuture<Boolean> task = holding.withPermitAsync(tck.patience(), permit -> {
            begun.countDown();
            return work;
        });
        tck.await("an asynchronous task begins", () -> begun.getCount() == 0);
        List<CompletableFuture<?>> futures = new ArrayList<>();
        try (LinkFault stall = route.proxy().stall()) {
            futures.add(atOnce(tck, "acquireAsync()", semaphore::acquireAsync));
            tck.await("the link stalls an exchange", () -> stall.strikes() > 0);
            futures.add(atOnce(tck, "verifyAsync()", held.get(0)::verifyAsync));
            futures.add(atOnce(tck, "releaseAsync()", held.get(1)::releaseAsync));
            futures.add(atOnce(tck, "the end of the stage of a task", () -> {
                work.complete(true);
                return task;
            }));
            futures.add(atOnce(tck, "acquireAsync() during an exchange", semaphore::acquireAsync));
            futures.add(atOnce(tck, "acquireAsync(0)", () -> semaphore.acquireAsync(Duration.ZERO)));
            futures.add(atOnce(tck, "acquireAsync(2, 1 h)", () -> semaphore.acquireAsync(2, Duration.ofHours(1))));
            CompletableFuture<?> unused = atOnce(tck, "cancel", () -> {
                futures.get(4).cancel(true);
                return futures.get(4);
            });
            tck.await(
                    "futures end within the operation bound although the backend stalls",
                    Observer.settling(tck),
                    () -> futures.stream().allMatch(CompletableFuture::isDone));
        }
        futures.forEach(StallRules::giveBack);
        held.get(0).close();
        new Observer(tck, tck.home().semaphore(name)).awaitFree(7, "what was asked for in a stall is not kept");
        Observer.assertWorks(tck, semaphore);
    }

    private static <T> CompletableFuture<T> atOnce(TckFixture tck, String what, Supplier<CompletableFuture<T>> call) {
        long start = System.nanoTime();
        CompletableFuture<T> future = call.get();
        long end = System.nanoTime();
        assertThat(Duration.ofNanos(end - start - tck.stoodStill(start, end)))
                .as("time for which %s blocked its caller while the backend stalls", what)
                .isLessThan(tck.scaled(AT_ONCE));
        return future;
    }

    private static void giveBack(CompletableFuture<?> future) {
        if (!future.isCompletedExceptionally() && future.join() instanceof Permit permit) {
            permit.close();
        } else if (!future.isCompletedExceptionally() && future.join() instanceof PermitGroup group) {
            group.close();
        }
    }

    /** What is known of one permit at once is not known of the others. */
    @Test
    @Rule({"4.7", "13.5"})
    void aGroupIsReleasedWhenTheLastOfItsPermitsIs(TckFixture tck) throws Exception {
        String name = tck.create(2);
        Route route = tck.route();
        PermitGroup group = route.client().semaphore(name).acquire(2, tck.patience());
        Duration validity = tck.validity(group.validUntil());
        long since = System.nanoTime();
        group.permits().get(0).release();
        LinkFault stall = route.proxy().stall();
        CompletableFuture<List<ReleaseOutcome>> released = group.releaseAsync();
        tck.await("the link stalls the release", () -> stall.strikes() > 0);
        Duration heldUp =
                TckTiming.shorter(HELD_UP, tck.guarantees().callBound().dividedBy(15));
        tck.proveNothing("a group whose release the link holds up is not released", heldUp, () -> !released.isDone());
        stall.heal();
        List<ReleaseOutcome> outcomes = released.get(tck.patience().toNanos(), TimeUnit.NANOSECONDS);
        if (outcomes.contains(ReleaseOutcome.WAS_LOST)) {
            tck.abortIfStoodStill(validity, since);
        }
        assertThat(outcomes)
                .as("the release of a group of which one permit was released")
                .containsExactly(ReleaseOutcome.ALREADY_RELEASED, ReleaseOutcome.RELEASED);
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("13.6")
    void aSlowAndUnsteadyLinkLosesNothingAndConfusesNobody(TckFixture tck) throws Exception {
        String name = tck.create(2);
        String quiet = tck.create(1);
        Route route = tck.route();
        // One call of the adapter has a third of the bound, and its requests have to fit into that.
        Duration call = tck.guarantees().callBound().dividedBy(3);
        Duration most = TckTiming.shorter(
                BETWEEN_CONTINENTS,
                TckTiming.shorter(call, tck.guarantees().detectionMax()).dividedBy(25));
        try (LinkFault delay = route.proxy()
                        .delay(most.dividedBy(4), most, new Random(tck.random().nextLong()));
                LinkFault throttle = route.proxy().throttle(200_000)) {
            // The first call connects, which takes many round trips: a call that waits goes on until it has them.
            Watched held = new Watched(tck, route.client().semaphore(quiet).acquire(tck.patience()));
            Duration validity = tck.validity(held.permit().validUntil());
            long start = System.nanoTime();
            List<DistributedSemaphore> semaphores = List.of(
                    route.client().semaphore(name),
                    route.client().semaphore(name),
                    tck.home().semaphore(name));
            // The client behind the slow link has to get its turn too, or the run would prove nothing.
            int slow = Math.toIntExact(most.toMillis());
            Workload workload = Workload.of(2, 6, tck.random().nextLong())
                    .withRounds(tck.rounds(200, 15), 3_000)
                    .withTimes(slow * 250, slow * 4)
                    .untilHeld(2)
                    .withFailures();
            History history = workload.run(semaphores, tck.recorder("slow"));
            tck.judge(history);
            sitOut(tck, start);
            if (!held.losses().isEmpty()) {
                tck.abortIfStoodStill(validity, start);
            }
            assertThat(held.losses()).as("losses reported behind a slow link").isEmpty();
            assertThat(held.permit().isValid())
                    .as("isValid of a permit that is renewed over a slow link")
                    .isTrue();
            held.end();
            held.permit().release();
            assertThat(delay.strikes() * throttle.strikes()).isPositive();
        }
        tck.assertFree(name, 2);
        tck.assertFree(quiet, 1);
    }

    /** An adapter may take epochs from the clock of its server. It knows that clock from an answer, which may be old. */
    @Test
    @Rule("7.2")
    void fencesGoOnRisingAfterDestructionAlsoWhenAGrantWasHeldUp(TckFixture tck) {
        if (!tck.has(Capability.DURABLE_FENCING)) {
            throw new TestAbortedException("DURABLE_FENCING is not declared");
        }
        String name = tck.create(1);
        Route route = tck.route();
        DistributedSemaphore slow = route.client().semaphore(name);
        Observer.assertWorks(tck, slow);
        tck.take(tck.home().semaphore(name), 1).get(0).release();
        Fence before;
        try (LinkFault stall = route.proxy().stall()) {
            Task<Permit> grant = tck.spawn("a grant that is held up", () -> slow.acquire(tck.patience()));
            Pause.millis(TckTiming.shorter(HELD_UP, tck.guarantees().callBound().dividedBy(15))
                    .toMillis());
            assertThat(stall.heal()).as("bytes that were held up").isPositive();
            Permit permit = grant.result();
            before = permit.fence();
            permit.release();
        }
        tck.home().admin().destroy(name);
        tck.home().admin().create(name, 1);
        Permit after = tck.take(tck.home().semaphore(name), 1).get(0);
        assertThat(after.fence().epoch())
                .as("epoch after destroy and create; it was %s before, granted while the link stalled", before)
                .isGreaterThan(before.epoch());
        after.release();
    }

    /** The grant meets nobody any more when its answer arrives. Nobody is to wait for the end of a lease then. */
    @Test
    @Rule({"3.6", "13.6"})
    void whatIsGrantedToACallThatHasEndedGoesBackAtOnce(TckFixture tck) {
        String name = tck.create(1);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client().semaphore(name);
        Observer.assertWorks(tck, semaphore);
        Observer others = new Observer(tck, tck.home().semaphore(name));
        // Of the time for one call of the adapter, which is a third of the bound, a part.
        Duration late = TckTiming.shorter(
                BETWEEN_CONTINENTS, tck.guarantees().callBound().dividedBy(15));
        try (LinkFault slow = route.proxy()
                .delay(late, late.plusMillis(1), new Random(tck.random().nextLong()), Direction.ANSWERS)) {
            List<Duration> taken = new ArrayList<>();
            for (int round = 0; round < CALLS_THAT_END; round++) {
                CompletableFuture<Permit> call = semaphore.acquireAsync(tck.patience());
                Pause.millis(late.toMillis() * (round + 1) / (CALLS_THAT_END + 1));
                if (!call.cancel(true)) {
                    giveBack(call);
                }
                long since = System.nanoTime();
                others.awaitAtLeastFree(1, "what was granted to a call that was cancelled does not go back at once");
                taken.add(Duration.ofNanos(System.nanoTime() - since));
            }
            Collections.sort(taken);
            Duration lease = tck.guarantees().detectionMin();
            assertThat(taken.get(CALLS_THAT_END / 2))
                    .as("how long the grants to cancelled calls kept a slot, at the median; a lease lasts %s", lease)
                    .matches(median -> lease.isZero() || median.compareTo(lease) < 0, "is shorter than that");
            assertThat(slow.strikes()).as("answers that were late").isPositive();
        }
        tck.assertFree(name, 1);
    }

    /** What is granted to a call that was cancelled may pass to the next one, and the client has to know it as its own. */
    @Test
    @Rule({"3.6", "13.6"})
    void whatIsGrantedToACallThatHasEndedMayPassToTheNext(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client(Waiters.handingOn(tck)).semaphore(name);
        Observer.assertWorks(tck, semaphore);
        Duration late = TckTiming.shorter(
                BETWEEN_CONTINENTS, tck.guarantees().callBound().dividedBy(15));
        try (LinkFault slow = route.proxy()
                .delay(late, late.plusMillis(1), new Random(tck.random().nextLong()), Direction.ANSWERS)) {
            for (int round = 0; round < CALLS_THAT_END; round++) {
                long since = System.nanoTime();
                CompletableFuture<Permit> ends = semaphore.acquireAsync(tck.patience());
                CompletableFuture<Permit> next = semaphore.acquireAsync(tck.patience());
                Pause.millis(late.toMillis() * (round + 1) / (CALLS_THAT_END + 1));
                if (!ends.cancel(true)) {
                    giveBack(ends);
                }
                tck.await("the next call is served", next::isDone);
                assertHeld(tck, semaphore, next.join(), since);
            }
            assertThat(slow.strikes()).as("answers that were late").isPositive();
        }
        tck.assertFree(name, 1);
    }

    private static void assertHeld(TckFixture tck, DistributedSemaphore semaphore, Permit permit, long since) {
        Duration validity = tck.validity(permit.validUntil());
        int held = semaphore.statistics().held();
        Verification found = Observer.verified(tck, permit);
        if (held == 0 || found == Verification.LOST) {
            tck.abortIfStoodStill(validity, since);
        }
        assertThat(held).as("permits that the client says it holds").isEqualTo(1);
        assertThat(found).as("a permit behind a call that was cancelled").isEqualTo(Verification.HELD);
        permit.close();
    }

    /** A holder is to be renewed several times, where there is time for that. */
    private static void sitOut(TckFixture tck, long start) {
        Duration two = tck.guarantees().detectionMax().multipliedBy(2);
        long wanted = tck.full() ? two.toNanos() : Math.min(two.toNanos(), 4_000_000_000L);
        long left = wanted - (System.nanoTime() - start);
        if (left > 0) {
            Pause.millis(left / 1_000_000);
        }
    }
}
