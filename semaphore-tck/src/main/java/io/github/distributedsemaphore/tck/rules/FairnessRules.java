package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.LongHolds;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Section 11: the order in which waiters are served. */
@Section
public abstract class FairnessRules {
    /** A client comes so much later than the one before it. No link of a kit is slow enough to bring it first. */
    private static final Duration ARRIVAL = Duration.ofMillis(50);

    /** A client that soon waits again may keep its place. */
    private static final Duration AWAY = Duration.ofSeconds(1);

    /** A busy machine makes a client come late to its turn, and the next one is served. */
    private static final int TRIES = 8;

    /** What delays a client for so long may cost it its turn. */
    private static final Duration STOOD_STILL = Duration.ofMillis(20);

    /** In the try that counts, one pair may have changed places. A client at the wrong end changes places with more. */
    private static final int SWAPPED = 1;

    /** For subclasses. */
    protected FairnessRules() {}

    @Test
    @Rule("11.1")
    void threadsOfOneClientAreServedInTheOrderOfTheirArrival(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = tck.semaphore(1);
        List<Integer> order = new CopyOnWriteArrayList<>();
        Permit held = semaphore.acquire(tck.patience());
        List<Task<Void>> waiters = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            waiters.add(arrival(tck, semaphore, order, i));
        }
        held.release();
        for (Task<Void> waiter : waiters) {
            waiter.result();
        }
        assertThat(order).as("the order in which waiters 0 to 7 were served").containsExactly(0, 1, 2, 3, 4, 5, 6, 7);
    }

    private static Task<Void> arrival(TckFixture tck, DistributedSemaphore semaphore, List<Integer> order, int number) {
        Task<Void> waiter = tck.spawn("waiter " + number, () -> {
            try (Permit permit = semaphore.acquire(tck.patience())) {
                assertThat(permit.isValid())
                        .as("a permit that was just granted is valid")
                        .isTrue();
                order.add(number);
            }
            return null;
        });
        waiter.awaitBlocked();
        return waiter;
    }

    @Test
    @Rule("11.1")
    void aLargeRequestIsNotOvertakenByLaterOnesOfItsClient(TckFixture tck) throws Exception {
        String name = tck.create(3);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        List<Permit> held = tck.take(semaphore, 3);
        Task<PermitGroup> large = tck.spawn("large request", () -> semaphore.acquire(3, tck.patience()));
        large.awaitBlocked();
        Task<Permit> small = Waiters.blocked(tck, "later small request", semaphore);
        held.get(0).release();
        held.get(1).release();
        tck.proveNothing("a later request does not overtake the large one", () -> !small.isDone());
        held.get(2).release();
        PermitGroup group = large.result();
        assertThat(small.isDone())
                .as("a small request was served beside a group of all three")
                .isFalse();
        long since = System.nanoTime();
        group.close();
        Waiters.served(tck, small, since, "the request behind a large one was not served")
                .release();
        tck.assertFree(name, 3);
    }

    /** What becomes free at once is enough for all but the large one, and they may be asked for in one exchange. */
    @Test
    @Rule("11.1")
    void aLargeRequestBehindASmallOneIsNotOvertakenEither(TckFixture tck) throws Exception {
        String name = tck.create(3);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        PermitGroup held = tck.client().semaphore(name).acquire(3, tck.patience());
        Task<Permit> first = Waiters.blocked(tck, "small request before the large one", semaphore);
        Task<PermitGroup> large = tck.spawn("large request", () -> semaphore.acquire(3, tck.patience()));
        large.awaitBlocked();
        Task<Permit> small = Waiters.blocked(tck, "later small request", semaphore);
        long since = System.nanoTime();
        held.close();
        Permit permit = Waiters.served(tck, first, since, "the request before a large one was not served");
        tck.proveNothing("a later request does not overtake the large one", () -> !small.isDone());
        permit.release();
        PermitGroup group = large.result();
        assertThat(small.isDone())
                .as("a small request was served beside a group of all three")
                .isFalse();
        group.close();
        small.result().release();
        tck.assertFree(name, 3);
    }

    @Test
    @Rule("11.2")
    void aWaiterThatLeavesChangesNotTheOrderOfTheRest(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = tck.semaphore(1);
        List<Integer> order = new CopyOnWriteArrayList<>();
        Permit held = semaphore.acquire(tck.patience());
        Task<Permit> timed = tck.spawn("leaves by time-out", () -> semaphore.acquire(Duration.ofMillis(150)));
        List<Task<Void>> waiters = new ArrayList<>(List.of(arrival(tck, semaphore, order, 0)));
        Task<Permit> interrupted = Waiters.blocked(tck, "leaves by interrupt", semaphore);
        waiters.add(arrival(tck, semaphore, order, 1));
        waiters.add(arrival(tck, semaphore, order, 2));
        interrupted.interrupt();
        interrupted.failure(InterruptedException.class);
        timed.failure(SemaphoreTimeoutException.class);
        held.release();
        for (Task<Void> waiter : waiters) {
            waiter.result();
        }
        assertThat(order)
                .as("the order in which waiters 0 to 2 were served after two others had left")
                .containsExactly(0, 1, 2);
    }

    /** Of several waiters one client may ask for the first alone, and then has to ask for the next. */
    @Test
    @Rule("11.2")
    void whenALargeRequestIsServedThoseBehindItAreToo(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Permit held = tck.take(tck.client().semaphore(name), 1).get(0);
        DistributedSemaphore semaphore = tck.client(Waiters.hinted(tck)).semaphore(name);
        tck.home().admin().resize(name, 2);
        Task<PermitGroup> large = tck.spawn("large request", () -> semaphore.acquire(2, tck.patience()));
        large.awaitBlocked();
        Task<Permit> small = Waiters.blocked(tck, "small request behind a large one", semaphore);
        long since = System.nanoTime();
        tck.home().admin().resize(name, 4);
        Waiters.served(tck, small, since, "those behind a large request that was served were not")
                .release();
        large.result().close();
        held.release();
        tck.assertFree(name, 4);
    }

    @Test
    @Rule("11.2")
    void whenALargeRequestHasBecomeImpossibleThoseBehindItAreServed(TckFixture tck) throws Exception {
        String name = tck.create(3);
        Permit held = tck.take(tck.client().semaphore(name), 1).get(0);
        DistributedSemaphore semaphore = tck.client(Waiters.hinted(tck)).semaphore(name);
        Task<PermitGroup> large = tck.spawn("large request", () -> semaphore.acquire(3, tck.patience()));
        large.awaitBlocked();
        Task<Permit> small = Waiters.blocked(tck, "small request behind a large one", semaphore);
        // A backend may tell waiters of that or not. If it does, no other news is to come.
        tck.home().admin().resize(name, 2);
        long told =
                System.nanoTime() + tck.scaled(tck.guarantees().wakeUpBound()).toNanos();
        while (!large.isDone() && System.nanoTime() - told < 0) {
            Pause.millis(1);
        }
        if (!large.isDone()) {
            held.release();
        }
        large.failure(IllegalArgumentException.class);
        Waiters.served(
                        tck,
                        small,
                        large.endedAt(),
                        "those behind a request that is larger than the limit were not served")
                .release();
        held.close();
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("11.4")
    void clientsAreServedInTheOrderOfTheirArrival(TckFixture tck) {
        List<SemaphoreClient> clients = clients(tck, 6);
        assertInOrder("clients that came one after the other", List.of(0, 1, 2, 3, 4, 5), TRIES, served -> {
            Line line = new Line(tck, clients, served, 1);
            for (int client = 0; client < 6; client++) {
                line.join(client);
            }
            return line.serve();
        });
    }

    /** Half of the tries ask for a permit at once after leaving, which also gives up the place. */
    @Test
    @Rule({"11.4", "11.2"})
    void aClientThatLeftAndComesAgainStandsAtTheEnd(TckFixture tck) {
        List<SemaphoreClient> clients = clients(tck, 4);
        for (boolean asksAtOnce : new boolean[] {false, true}) {
            assertInOrder("clients of which 0 came first, left, and came last", List.of(1, 2, 3, 0), TRIES, served -> {
                Line line = new Line(tck, clients, served, 1);
                line.join(0);
                line.join(1);
                line.join(2);
                line.firstLeaves();
                if (asksAtOnce) {
                    line.assertFull(0);
                }
                line.join(3);
                tck.proveNothing("those that stay wait on", AWAY, served::isEmpty);
                line.waits(0);
                return line.serve();
            });
        }
    }

    /** A client that waits and holds nothing is heard of as well. */
    @Test
    @Rule("11.4")
    void aWaitThatIsLongerThanALeaseCostsNoPlace(TckFixture tck) {
        List<SemaphoreClient> clients = clients(tck, 4);
        Duration lease = tck.scaled(tck.guarantees().detectionMax());
        LongHolds.assumeTimeFor(tck, lease);
        assertInOrder("clients that waited for longer than a lease", List.of(0, 1, 2, 3), TRIES / 2, served -> {
            Line line = new Line(tck, clients, served, 1);
            for (int client = 0; client < 4; client++) {
                line.join(client);
                tck.proveNothing("the first wait on", lease.dividedBy(3), served::isEmpty);
            }
            return line.serve();
        });
    }

    @Test
    @Rule({"11.4", "8.5"})
    void aResizeCostsNoPlace(TckFixture tck) {
        List<SemaphoreClient> clients = clients(tck, 4);
        assertInOrder("clients of which two waited through a resize", List.of(0, 1, 2, 3), TRIES, served -> {
            Line line = new Line(tck, clients, served, 3);
            line.join(0);
            line.join(1);
            tck.home().admin().resize(line.name, 1);
            line.join(2);
            line.join(3);
            return line.serve();
        });
    }

    private static List<SemaphoreClient> clients(TckFixture tck, int count) {
        if (!tck.has(Capability.ARRIVAL_ORDER)) {
            throw new TestAbortedException("no order between clients is declared");
        }
        return Stream.generate(tck::client).limit(count).toList();
    }

    /**
     * A client that comes some milliseconds late may rightly be passed. So one try in order is enough. A try during which the machine
     * stood still is never held against the backend.
     */
    private static void assertInOrder(String who, List<Integer> expected, int tries, Predicate<List<Integer>> round) {
        List<List<Integer>> wrong = new ArrayList<>();
        for (int i = 0; i < tries; i++) {
            List<Integer> served = new CopyOnWriteArrayList<>();
            boolean calm = round.test(served);
            if (calm && swapped(served, expected) <= SWAPPED) {
                return;
            } else if (calm) {
                wrong.add(served);
            }
        }
        if (wrong.size() > 1) {
            throw new AssertionError(
                    who + " were not served in the order " + expected + ", but in each of these: " + wrong);
        }
        throw new TestAbortedException("the machine stood still while clients were served");
    }

    private static int swapped(List<Integer> served, List<Integer> expected) {
        int swapped = 0;
        for (int i = 0; i < expected.size(); i++) {
            for (Integer later : expected.subList(i + 1, expected.size())) {
                swapped += served.indexOf(later) < served.indexOf(expected.get(i)) ? 1 : 0;
            }
        }
        return swapped;
    }

    /** Clients that wait while all permits are held. Each gives its permit back as soon as it has it. */
    private static final class Line {
        private final TckFixture tck;
        private final List<SemaphoreClient> clients;
        private final List<Integer> served;
        private final String name;
        private final List<Permit> held;
        private final List<CompletableFuture<Permit>> waiting = new ArrayList<>();
        private final List<CompletableFuture<?>> turns = new ArrayList<>();

        Line(TckFixture tck, List<SemaphoreClient> clients, List<Integer> served, int limit) {
            this.tck = tck;
            this.clients = clients;
            this.served = served;
            this.name = tck.create(limit);
            this.held = tck.take(tck.client(Waiters.hinted(tck)).semaphore(name), limit);
        }

        /** A new client connects first, which takes it longer than the next. */
        void join(int client) {
            assertFull(client);
            waits(client);
        }

        void waits(int client) {
            DistributedSemaphore semaphore = clients.get(client).semaphore(name);
            long asked = semaphore.statistics().exchanges();
            waiting.add(semaphore.acquireAsync());
            turns.add(waiting.get(waiting.size() - 1).thenCompose(permit -> {
                served.add(client);
                return permit.releaseAsync();
            }));
            tck.await(
                    "the backend was asked for client " + client,
                    () -> semaphore.statistics().exchanges() > asked);
            tck.proveNothing("nobody is served while all permits are held", ARRIVAL, served::isEmpty);
        }

        void assertFull(int client) {
            assertThat(clients.get(client).semaphore(name).tryAcquire())
                    .as("a permit while all are held")
                    .isEmpty();
        }

        void firstLeaves() {
            waiting.get(0).cancel(true);
            turns.remove(0);
        }

        /** Returns whether the machine did not stand still meanwhile. */
        boolean serve() {
            long since = System.nanoTime();
            held.forEach(Permit::release);
            tck.await("all clients are served", () -> turns.stream().allMatch(CompletableFuture::isDone));
            boolean calm = tck.stoodStill(since, System.nanoTime()) < STOOD_STILL.toNanos();
            turns.forEach(CompletableFuture::join);
            tck.assertFree(name, 1);
            return calm;
        }
    }
}
