package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.LongHolds;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Section 11: the order in which clients that wait are served, where one is declared. */
@Section
public abstract class ArrivalRules {
    /** A client comes so much later than the one before it. No link of a kit is slow enough to bring it first. */
    private static final Duration ARRIVAL = Duration.ofMillis(50);

    /** A client that soon waits again may keep its place. */
    private static final Duration AWAY = Duration.ofSeconds(1);

    /** A busy machine makes a client come late to its turn, and the next one is served. */
    private static final int TRIES = 8;

    /** What delays a client for so long may cost it its turn. */
    private static final Duration STOOD_STILL = Duration.ofMillis(20);

    private static final Duration LONG_LEASE = Duration.ofSeconds(10);

    /** In the try that counts, one pair may have changed places. A client at the wrong end changes places with more. */
    private static final int SWAPPED = 1;

    /** For subclasses. */
    protected ArrivalRules() {}

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
        // In full mode the first one waits for four leases, unless these are as long as those of Consul.
        boolean isLong = lease.compareTo(LONG_LEASE) > 0;
        Duration apart = tck.full() && !isLong ? lease : lease.dividedBy(3);
        assertInOrder(
                "clients that waited for longer than a lease", List.of(0, 1, 2, 3), TRIES / 2, tck.full(), served -> {
                    Line line = new Line(tck, clients, served, 1);
                    for (int client = 0; client < 4; client++) {
                        line.join(client);
                        tck.proveNothing("the first wait on", apart, served::isEmpty);
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

    /** What another thread of a client tries leaves the client's place as it is. */
    @Test
    @Rule("11.4")
    void anAttemptOfAnotherThreadCostsNoPlace(TckFixture tck) {
        List<SemaphoreClient> clients = clients(tck, 4);
        assertInOrder(
                "clients of which 0 and 1 were refused a permit meanwhile", List.of(0, 1, 2, 3), TRIES, served -> {
                    Line line = new Line(tck, clients, served, 1);
                    for (int client = 0; client < 4; client++) {
                        line.join(client);
                    }
                    line.assertFull(0);
                    line.assertFull(1);
                    return line.serve();
                });
    }

    /** A client that is granted one permit goes on waiting for two. */
    @Test
    @Rule("11.4")
    void aGrantToAnotherThreadCostsNoPlace(TckFixture tck) {
        List<SemaphoreClient> clients = clients(tck, 3);
        assertInOrder(
                "clients that waited for two permits, of which 0 was granted one meanwhile,",
                List.of(0, 1, 2),
                TRIES,
                served -> {
                    Line line = new Line(tck, clients, served, 2);
                    line.held.remove(0).release();
                    for (int client = 0; client < 3; client++) {
                        line.waitsForTwo(client);
                    }
                    Optional<Permit> granted =
                            clients.get(0).semaphore(line.name).tryAcquire();
                    granted.ifPresent(Permit::release);
                    return line.serve() && granted.isPresent();
                });
    }

    /** A client that holds a permit may be watching the backend already, and may have had a place that the permit came to. */
    @Test
    @Rule("11.4")
    void clientsThatHoldAPermitHaveTheirPlacesToo(TckFixture tck) {
        List<SemaphoreClient> others = clients(tck, 2);
        List<SemaphoreClient> clients = List.of(
                tck.client(Waiters.lasting(tck)), tck.client(Waiters.lasting(tck)), others.get(0), others.get(1));
        assertInOrder("clients of which 0 and 1 hold a permit each", List.of(0, 1, 2, 3), TRIES / 2, served -> {
            Line line = new Line(tck, clients, served, 3);
            line.waitsFor(0);
            line.has(1);
            Pause.millis(AWAY.multipliedBy(2).toMillis());
            line.join(0);
            line.join(1);
            tck.proveNothing("those that hold one wait on", AWAY.multipliedBy(2), served::isEmpty);
            line.join(2);
            line.join(3);
            return line.serve();
        });
    }

    /** A client may ask for what several of its callers want in one request. */
    @Test
    @Rule({"11.4", "11.1"})
    void aClientKeepsItsPlaceAlsoIfItsNextCallerWantsMore(TckFixture tck) {
        List<SemaphoreClient> clients = clients(tck, 3);
        assertInOrder("clients of which 0 also wants two permits", List.of(0, 1, 2), TRIES / 2, served -> {
            Line line = new Line(tck, clients, served, 2);
            line.join(0);
            line.wantsMore(0, 2);
            tck.proveNothing("both callers of 0 wait on, and it asks for both", AWAY.multipliedBy(3), served::isEmpty);
            line.join(1);
            line.join(2);
            long since = System.nanoTime();
            line.held.remove(0).release();
            // With one permit, 1 and 2 may have their turns now or after the two for 0.
            tck.await("somebody is served with the first permit", () -> !served.isEmpty());
            Pause.millis(tck.quiet().toMillis());
            return line.serve() && tck.stoodStill(since, System.nanoTime()) < STOOD_STILL.toNanos();
        });
    }

    private static List<SemaphoreClient> clients(TckFixture tck, int count) {
        if (!tck.has(Capability.ARRIVAL_ORDER)) {
            throw new TestAbortedException("no order between clients is declared");
        }
        return Stream.generate(tck::client).limit(count).toList();
    }

    /**
     * A client that comes some milliseconds late may rightly be passed, so one try in order is enough. A try during which the machine
     * stood still is never held against the backend.
     */
    private static void assertInOrder(String who, List<Integer> expected, int tries, Predicate<List<Integer>> round) {
        assertInOrder(who, expected, tries, false, round);
    }

    /**
     * As the other one.
     *
     * @param each whether all tries are made, and three in order are wanted for each that is not: if the clients come so far apart
     *     that none may be passed
     */
    private static void assertInOrder(
            String who, List<Integer> expected, int tries, boolean each, Predicate<List<Integer>> round) {
        int right = 0;
        List<List<Integer>> wrong = new ArrayList<>();
        for (int i = 0; i < tries && (each || right == 0); i++) {
            List<Integer> served = new CopyOnWriteArrayList<>();
            boolean calm = round.test(served);
            if (calm && swapped(served, expected) <= SWAPPED) {
                right++;
            } else if (calm) {
                wrong.add(served);
            }
        }
        boolean enough = each ? wrong.size() * 3 <= right : right > 0;
        if (wrong.size() > 1 && !enough) {
            throw new AssertionError(who + " were served in the order " + expected + " in " + right
                    + " tries, but not in each of these: " + wrong);
        } else if (right == 0) {
            throw new TestAbortedException(
                    "fewer than two tries count: the machine stood still while clients were served");
        }
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
        private final List<Permit> kept = new ArrayList<>();
        private final List<CompletableFuture<Permit>> waiting = new ArrayList<>();
        private final List<CompletableFuture<?>> turns = new ArrayList<>();

        Line(TckFixture tck, List<SemaphoreClient> clients, List<Integer> served, int limit) {
            this.tck = tck;
            this.clients = clients;
            this.served = served;
            this.name = tck.create(limit);
            this.held = tck.take(tck.client(Waiters.hinted(tck)).semaphore(name), limit);
        }

        /** Makes a client have one of the permits, and keep it until all that wait were served. */
        void has(int client) {
            held.remove(0).release();
            kept.addAll(tck.take(clients.get(client).semaphore(name), 1));
        }

        /** As {@link #has}, but the client waits for the permit. */
        void waitsFor(int client) {
            assertFull(client);
            List<Permit> granted = new CopyOnWriteArrayList<>();
            arrives(client, semaphore -> semaphore.acquireAsync().thenAccept(granted::add));
            held.remove(0).release();
            tck.await("the only client that waits is served", () -> !granted.isEmpty());
            kept.addAll(granted);
        }

        /** A new client connects first, which takes it longer than the next. */
        void join(int client) {
            assertFull(client);
            waits(client);
        }

        void waits(int client) {
            arrives(client, semaphore -> {
                waiting.add(semaphore.acquireAsync());
                return waiting.get(waiting.size() - 1).thenCompose(permit -> {
                    served.add(client);
                    return permit.releaseAsync();
                });
            });
        }

        /** One permit may be free. */
        void waitsForTwo(int client) {
            assertThat(clients.get(client).semaphore(name).tryAcquire(2))
                    .as("two permits while one is held")
                    .isEmpty();
            arrives(
                    client,
                    semaphore -> semaphore.acquireAsync(2).thenCompose(group -> {
                        served.add(client);
                        return group.releaseAsync();
                    }));
        }

        private void arrives(int client, Function<DistributedSemaphore, CompletableFuture<?>> call) {
            DistributedSemaphore semaphore = clients.get(client).semaphore(name);
            long asked = semaphore.statistics().exchanges();
            turns.add(call.apply(semaphore));
            tck.await(
                    "the backend was asked for client " + client,
                    () -> semaphore.statistics().exchanges() > asked);
            tck.proveNothing("nobody is served while too much is held", ARRIVAL, served::isEmpty);
        }

        void wantsMore(int client, int permits) {
            turns.add(clients.get(client).semaphore(name).acquireAsync(permits).thenCompose(PermitGroup::releaseAsync));
            Pause.millis(ARRIVAL.toMillis());
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
            kept.forEach(Permit::release);
            tck.assertFree(name, tck.home().admin().describe(name).orElseThrow().limit());
            return calm;
        }
    }
}
