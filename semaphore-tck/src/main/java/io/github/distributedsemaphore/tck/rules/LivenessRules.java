package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.LongHolds;
import io.github.distributedsemaphore.tck.watch.Race;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

/** Section 2: waiters are served, and no permit vanishes. */
@Section
public abstract class LivenessRules {
    private static final Duration BUDGET = Duration.ofMillis(1_500);

    /** Nothing is declared for it. The engine asks four times a second. */
    private static final Duration SOON_RELEASED = Duration.ofSeconds(2);

    /** For subclasses. */
    protected LivenessRules() {}

    @Test
    @Rule("2.1")
    void aReleaseWakesAWaiterOfAnotherClientInTime(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore releasing = tck.client(Waiters.hinted(tck)).semaphore(name);
        DistributedSemaphore waiting = tck.client(Waiters.hinted(tck)).semaphore(name);
        for (int unused : tck.repeat(50, BUDGET)) {
            Permit held = releasing.acquire(tck.patience());
            Task<Permit> waiter = Waiters.blocked(tck, "waiter", waiting);
            long since = System.nanoTime();
            held.release();
            Waiters.served(tck, waiter, since, "a release did not wake the waiter of another client")
                    .release();
        }
    }

    /** Several views of one semaphore, each by a client that its own timer does not wake. */
    private static List<DistributedSemaphore> hinted(TckFixture tck, String name, int clients) {
        return Stream.generate(() -> tck.client(Waiters.hinted(tck)).semaphore(name))
                .limit(clients)
                .toList();
    }

    /** A backend may list waiting clients for a limited time only, and a client may wait ever longer between its looks. */
    @Test
    @Rule("2.1")
    void aReleaseWakesWhoHasWaitedForSomeSeconds(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Permit held =
                tck.take(tck.client(Waiters.hinted(tck)).semaphore(name), 1).get(0);
        Task<Permit> waiter =
                Waiters.blocked(tck, "waiter", tck.client(Waiters.hinted(tck)).semaphore(name));
        String shrunk = tck.create(2);
        List<Permit> both = tck.take(tck.home().semaphore(shrunk), 2);
        tck.home().admin().resize(shrunk, 1);
        Task<Boolean> administrator =
                tck.spawn("awaitReleased", () -> tck.client().admin().awaitReleased(shrunk, Duration.ofMinutes(1)));
        Pause.millis(5_000);
        long since = System.nanoTime();
        held.release();
        Waiters.served(tck, waiter, since, "a release did not wake one that had waited for five seconds")
                .release();
        both.forEach(Permit::release);
        tck.await(
                "the release of a removed slot ends awaitReleased, which had waited for five seconds",
                SOON_RELEASED,
                administrator::isDone);
        assertThat(administrator.result()).as("awaitReleased after the release").isTrue();
    }

    /**
     * The client that waits for two may learn of the slot first, and cannot use it. Where clients have an order, the other client may
     * have to wait until that one has left.
     */
    @Test
    @Rule({"2.1", "11.2"})
    void aWaiterForOneIsServedBesideAClientThatWaitsForTwo(TckFixture tck) throws Exception {
        String name = tck.create(2);
        DistributedSemaphore waiting = tck.client(Waiters.hinted(tck)).semaphore(name);
        DistributedSemaphore waitingForTwo = tck.client(Waiters.hinted(tck)).semaphore(name);
        for (int unused : tck.repeat(10, BUDGET)) {
            List<Permit> held = tck.take(tck.home().semaphore(name), 2);
            CompletableFuture<PermitGroup> two = waitingForTwo.acquireAsync(2);
            tck.proveNothing("the one that waits for two waits", () -> !two.isDone());
            Task<Permit> waiter = Waiters.blocked(tck, "waiter for one", waiting);
            long since = System.nanoTime();
            held.get(0).release();
            while (!waiter.isDone()
                    && System.nanoTime() - since
                            < tck.guarantees().wakeUpBound().toNanos()) {
                Pause.millis(1);
            }
            if (!waiter.isDone()) {
                since = System.nanoTime();
                two.cancel(true);
            }
            Waiters.served(tck, waiter, since, "a release did not reach a waiter for one beside a waiter for two")
                    .release();
            held.get(1).release();
            if (!two.isCancelled()) {
                tck.await("both permits reach the waiter for two", two::isDone);
                two.join().close();
            }
        }
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("2.1")
    void releasingTwoWakesTwoOfThree(TckFixture tck) throws Exception {
        String name = tck.create(3);
        PermitGroup held = hinted(tck, name, 1).get(0).acquire(3, tck.patience());
        List<CompletableFuture<Permit>> waiters = new ArrayList<>();
        for (DistributedSemaphore semaphore : hinted(tck, name, 3)) {
            // A new client connects first, which is no wake-up.
            assertThat(semaphore.tryAcquire()).isEmpty();
            waiters.add(semaphore.acquireAsync());
        }
        tck.proveNothing("three wait for what is held", () -> waiters.stream().noneMatch(CompletableFuture::isDone));
        held.permits().get(0).release();
        held.permits().get(2).release();
        tck.await(
                "two releases serve two of three waiters",
                tck.guarantees().wakeUpBound(),
                () -> waiters.stream().filter(CompletableFuture::isDone).count() == 2);
        tck.proveNothing(
                "two releases serve only two of three waiters",
                () -> waiters.stream().filter(CompletableFuture::isDone).count() == 2);
        held.close();
        for (CompletableFuture<Permit> waiter : waiters) {
            Waiters.served(tck, waiter, "the third release did not wake the last waiter")
                    .release();
        }
    }

    @Test
    @Rule("2.1")
    void releasingAGroupWakesAsManyAsItHad(TckFixture tck) throws Exception {
        String all = tck.create(3);
        PermitGroup group = hinted(tck, all, 1).get(0).acquire(3, tck.patience());
        assertServedTogether(tck, group, hinted(tck, all, 3));
        tck.assertFree(all, 3);
        String some = tck.create(4);
        Permit other = tck.take(hinted(tck, some, 1).get(0), 1).get(0);
        PermitGroup rest = hinted(tck, some, 1).get(0).acquire(3, tck.patience());
        assertServedTogether(tck, rest, hinted(tck, some, 2));
        other.release();
        tck.assertFree(some, 4);
    }

    private static void assertServedTogether(TckFixture tck, PermitGroup group, List<DistributedSemaphore> clients)
            throws Exception {
        // A new client connects first, which is no wake-up.
        clients.forEach(semaphore -> assertThat(semaphore.tryAcquire()).isEmpty());
        // All begin together: a client of its own accord looks again after a second and a half, whatever its settings.
        List<CompletableFuture<Permit>> waiters =
                clients.stream().map(DistributedSemaphore::acquireAsync).toList();
        tck.proveNothing("all wait for what is held", () -> waiters.stream().noneMatch(CompletableFuture::isDone));
        group.close();
        tck.await(
                "the release of a group of three serves " + waiters.size() + " clients",
                tck.guarantees().wakeUpBound(),
                () -> waiters.stream().allMatch(CompletableFuture::isDone));
        for (CompletableFuture<Permit> waiter : waiters) {
            waiter.get().release();
        }
    }

    @Test
    @Rule("2.3")
    void aClientThatIsClosedInOrderLeavesItsPermitsFree(TckFixture tck) throws Exception {
        String name = tck.create(3);
        SemaphoreClient leaving = tck.client();
        tck.take(leaving.semaphore(name), 3);
        CompletableFuture<Permit> waiter = tck.home().semaphore(name).acquireAsync(tck.patience());
        long since = System.nanoTime();
        leaving.close();
        tck.assertWithin(Bound.RELEASE, tck.guarantees().callBound().multipliedBy(5), System.nanoTime() - since);
        Waiters.served(tck, waiter, "closing a client did not free its permits").release();
        assertThat(tck.home().semaphore(name).tryAcquire(3))
                .as("all permits of a client that was closed in order are free when close returned")
                .isPresent();
    }

    @Test
    @Rule({"2.3", "6.5"})
    void whoAsksForASemaphoreWhileItsClientClosesTakesNoPermitOfIt(TckFixture tck) throws Exception {
        List<String> names = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            names.add(tck.create(1));
        }
        for (int unused : tck.repeat(200, BUDGET)) {
            SemaphoreClient leaving = tck.client();
            List<PermitLoss> losses = new CopyOnWriteArrayList<>();
            for (String name : names) {
                tck.take(leaving.semaphore(name), 1).get(0).onLost(losses::add);
            }
            CountDownLatch asking = new CountDownLatch(1);
            Task<Boolean> asker = tck.spawn("asks for semaphores", () -> {
                for (int i = 0; true; i++) {
                    leaving.semaphore(names.get(i % names.size()));
                    asking.countDown();
                }
            });
            asking.await();
            leaving.close();
            asker.failure(SemaphoreClosedException.class);
            for (String name : names) {
                Permit next = tck.home()
                        .semaphore(name)
                        .tryAcquire()
                        .orElseThrow(
                                () -> new AssertionError("a client that was closed in order, while its semaphores were"
                                        + " asked for, kept a permit of '" + name + "'"));
                next.release();
            }
            assertThat(losses).as("losses of a client that is closed in order").isEmpty();
        }
    }

    @Test
    @Rule("2.4")
    void aReleaseThatRacesTheStartOfAWaitIsNotMissed(TckFixture tck, TestReporter reporter) throws Exception {
        String name = tck.create(1);
        List<DistributedSemaphore> views = hinted(tck, name, 2);
        Permit[] holder = {views.get(0).acquire(tck.patience())};
        // A new client connects first, which is no wake-up.
        assertThat(views.get(1).tryAcquire(tck.quiet())).isEmpty();
        Permit[] next = new Permit[1];
        long[] times = new long[2];
        Race.run(
                tck,
                reporter,
                round -> {},
                round -> {
                    holder[0].release();
                    times[0] = System.nanoTime();
                },
                round -> {
                    next[0] = views.get(round % 2)
                            .tryAcquire(tck.patience())
                            .orElseThrow(
                                    () -> new AssertionError("a release that raced the start of a wait was missed"));
                    times[1] = System.nanoTime();
                },
                round -> {
                    tck.assertWithin(
                            Bound.WAKE_UP, tck.guarantees().wakeUpBound(), times[0], Math.max(times[0], times[1]));
                    holder[0] = next[0];
                });
        holder[0].release();
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("2.5")
    void aWaiterThatIsCancelledJustWhenItIsChosenPassesThePermitOn(TckFixture tck, TestReporter reporter)
            throws Exception {
        String name = tck.create(1);
        List<DistributedSemaphore> views = hinted(tck, name, 2);
        List<CompletableFuture<Permit>> futures = new ArrayList<>();
        Permit[] held = new Permit[1];
        long[] since = new long[1];
        Duration[] validity = new Duration[1];
        Race.run(
                tck,
                reporter,
                round -> {
                    since[0] = System.nanoTime();
                    held[0] = Waiters.soon(
                            tck, views.get(0), "a cancelled waiter did not pass the permit on, before race " + round);
                    validity[0] = tck.validity(held[0].validUntil());
                    futures.clear();
                    futures.add(views.get(round / 2 % 2).acquireAsync());
                    futures.add(views.get(round % 2).acquireAsync(tck.patience()));
                },
                round -> held[0].release(),
                round -> futures.get(0).cancel(true),
                round -> {
                    if (!futures.get(0).isCancelled()) {
                        futures.get(0).get().release();
                    }
                    Permit next = Waiters.served(
                            tck, futures.get(1), "a cancelled waiter did not pass the permit on to the next");
                    assertCounted(tck, views.get(round % 2), validity[0], since[0]);
                    next.release();
                });
        tck.assertFree(name, 1);
    }

    /** What a client does not know to be its own it does not renew either. A permit that was handed on may end with the grant before. */
    private static void assertCounted(TckFixture tck, DistributedSemaphore semaphore, Duration validity, long since) {
        int held = semaphore.statistics().held();
        if (held == 0) {
            tck.abortIfStoodStill(validity, since);
        }
        assertThat(held)
                .as("permits that a client says it holds, of which one has passed to its next waiter")
                .isEqualTo(1);
    }

    @Test
    @Rule("2.6")
    void aStormOfShortAttemptsHoldsUpNoRealWaiter(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.client(Waiters.hinted(tck)).semaphore(name);
        long taken = System.nanoTime();
        Permit held = semaphore.acquire(tck.patience());
        Duration validity = tck.validity(held.validUntil());
        Task<Permit> waiter = Waiters.blocked(
                tck, "real waiter", tck.client(Waiters.hinted(tck)).semaphore(name));
        List<Task<Integer>> storm = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            storm.add(tck.spawn("storm", () -> {
                int count = 0;
                for (int round : tck.repeat(3_000, Duration.ofMillis(500))) {
                    count += semaphore
                                    .tryAcquire(Duration.ofNanos(round % 3 * 100_000L))
                                    .isPresent()
                            ? 1
                            : 0;
                }
                return count;
            }));
        }
        int granted = storm.stream().mapToInt(Task::result).sum();
        if (!held.isValid()) {
            tck.abortIfStoodStill(validity, taken);
        }
        assertThat(granted).as("permits granted while the only one was held").isZero();
        Task<Permit> late = Waiters.blocked(tck, "waiter behind the storm", semaphore);
        long since = System.nanoTime();
        held.release();
        // They are waiters of two clients, between which no order is promised.
        String otherwise = "after a storm of short attempts a release did not reach ";
        Task<Permit> first = Waiters.first(tck, since, otherwise + "any waiter", List.of(waiter, late));
        first.result().release();
        Waiters.served(tck, first == waiter ? late : waiter, System.nanoTime(), otherwise + "the second waiter")
                .release();
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("2.12")
    void aWaiterOutlastsEveryTimeoutOfTheBackend(TckFixture tck) throws Exception {
        Duration wait = longest(tck.guarantees().callBound(), tck.guarantees().detectionMax())
                .multipliedBy(3)
                .dividedBy(2);
        LongHolds.assumeTimeFor(tck, wait);
        String name = tck.create(1);
        Permit held = tck.client().semaphore(name).acquire(tck.patience());
        Duration longer = wait.multipliedBy(2).plus(tck.patience());
        Task<Permit> waiter =
                tck.spawn("patient waiter", () -> tck.home().semaphore(name).acquire(longer));
        tck.proveNothing("a patient waiter goes on waiting", wait, () -> !waiter.isDone());
        long since = System.nanoTime();
        held.release();
        Permit permit = Waiters.served(tck, waiter, since, "a waiter that had waited for long was not served");
        assertThat(permit.isValid()).as("the permit after a long wait is valid").isTrue();
        permit.release();
    }

    private static Duration longest(Duration one, Duration other) {
        return one.compareTo(other) > 0 ? one : other;
    }
}
