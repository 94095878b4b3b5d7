package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.Operation;
import io.github.distributedsemaphore.tck.history.Workload;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.run.TckTiming;
import io.github.distributedsemaphore.tck.watch.Occupancy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

/** Clients that contend: turns, the limit reached, nothing lost, no name held up by another (section 2), and the shares of each (11.3). */
@Section
public abstract class ContentionRules {
    private static final Duration BUDGET = Duration.ofMillis(1_500);
    private static final int TURNS = 5;
    private static final Duration AT_WORK = Duration.ofSeconds(4);

    /** For subclasses. */
    protected ContentionRules() {}

    /** A client that serves itself is to leave the others a turn, also those that have one thread only. */
    @Test
    @Rule("2.7")
    void aClientOfManyThreadsLeavesTheOthersTheirTurns(TckFixture tck) throws Exception {
        String name = tck.create(1);
        AtomicBoolean over = new AtomicBoolean();
        List<Task<Boolean>> crowd = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            crowd.add(tck.spawn("one of a crowd", () -> {
                while (!over.get()) {
                    Permit permit = tck.home().semaphore(name).acquire(tck.patience());
                    Pause.millis(1);
                    permit.release();
                }
            }));
        }
        DistributedSemaphore alone = tck.client().semaphore(name);
        Duration bound =
                tck.scaled(tck.guarantees().wakeUpBound()).plus(tck.quiet()).multipliedBy(TURNS);
        long since = System.nanoTime();
        try {
            for (int turn = 1; turn <= TURNS; turn++) {
                Optional<Permit> permit = alone.tryAcquire(bound.plus(tck.patience()));
                assertThat(permit.isPresent() && !tck.isOver(bound, since))
                        .as("turn %d of one thread, beside a client of three, within %s", turn, bound)
                        .isTrue();
                permit.ifPresent(Permit::close);
            }
        } finally {
            over.set(true);
        }
        for (Task<Boolean> task : crowd) {
            task.result();
        }
    }

    @Test
    @Rule("2.7")
    void everyContenderGetsItsTurn(TckFixture tck) throws Exception {
        String name = tck.create(2);
        int contenders = 10;
        int turns = tck.rounds(50, 5);
        AtomicIntegerArray served = new AtomicIntegerArray(contenders);
        CountDownLatch all = new CountDownLatch(contenders);
        List<Task<Void>> tasks = new ArrayList<>();
        List<SemaphoreClient> clients = List.of(tck.home(), tck.client());
        for (int i = 0; i < contenders; i++) {
            int me = i;
            DistributedSemaphore semaphore = clients.get(i % 2).semaphore(name);
            tasks.add(tck.spawn("contender " + me, () -> {
                while (all.getCount() > 0) {
                    Permit permit = semaphore.acquire(tck.patience());
                    Occupancy.letOthersIn();
                    permit.release();
                    if (served.incrementAndGet(me) == turns) {
                        all.countDown();
                    }
                }
                return null;
            }));
        }
        boolean allServed = all.await(tck.patience().toNanos(), TimeUnit.NANOSECONDS);
        assertThat(allServed)
                .as("a contender got no turn within %s; turns: %s", tck.patience(), served)
                .isTrue();
        for (Task<Void> task : tasks) {
            task.result();
        }
    }

    /** Some hundred times: windows, counters and caches of an adapter turn over meanwhile. */
    @Test
    @Rule({"2.9", "2.8"})
    void aPermitThatIsFreeIsTakenAgainAndAgain(TckFixture tck) {
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        for (int round : tck.repeat(tck.rounds(5_000, 400), Duration.ofSeconds(10))) {
            Optional<Permit> permit = semaphore.tryAcquire();
            assertThat(permit)
                    .as("a permit where all are free, round %d", round)
                    .isPresent();
            permit.ifPresent(Permit::close);
        }
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("2.8")
    void theLimitIsReallyReached(TckFixture tck) throws Exception {
        String name = tck.create(3);
        for (List<SemaphoreClient> clients :
                List.of(List.of(tck.home(), tck.home(), tck.home()), List.of(tck.home(), tck.client(), tck.client()))) {
            Duration bound = tck.scaled(
                    tck.guarantees().wakeUpBound().plus(tck.guarantees().callBound()));
            CountDownLatch together = new CountDownLatch(3);
            List<Task<Boolean>> holders = new ArrayList<>();
            for (SemaphoreClient client : clients) {
                holders.add(tck.spawn("holder", () -> {
                    try (Permit permit = client.semaphore(name).acquire(tck.patience())) {
                        together.countDown();
                        return permit.isValid() && together.await(bound.toNanos(), TimeUnit.NANOSECONDS);
                    }
                }));
            }
            for (Task<Boolean> holder : holders) {
                assertThat(holder.result())
                        .as("three hold at once where the limit is 3: fewer are let in than allowed")
                        .isTrue();
            }
        }
    }

    /** Nobody has to wait for anybody, so no attempt of a healthy backend may fail. */
    @Test
    @Rule("2.8")
    void manyClientsAtWorkAreNoOutage(TckFixture tck) throws Exception {
        int clients = 8;
        String name = tck.create(2 * clients);
        List<SemaphoreClient> connected =
                Stream.generate(tck::client).limit(clients).toList();
        tck.inTime(() -> {
            List<Task<Tally>> workers = new ArrayList<>();
            for (SemaphoreClient client : connected) {
                long seed = tck.random().nextLong();
                workers.add(tck.spawn("client", () -> takesAndReleases(tck, client.semaphore(name), new Random(seed))));
            }
            // All have ended before any is judged, because they may have to begin anew.
            List<Tally> tallies = new ArrayList<>();
            for (Task<Tally> worker : workers) {
                tallies.add(worker.result());
            }
            for (Tally tally : tallies) {
                if (tally.failure() != null) {
                    throw tally.failure();
                }
                assertThat(tally.grants())
                        .as("permits that one of %d clients had, for which there are two each", clients)
                        .isPositive();
            }
        });
        tck.assertFree(name, 2 * clients);
    }

    private record Tally(int grants, @Nullable AssertionError failure) {}

    private static Tally takesAndReleases(TckFixture tck, DistributedSemaphore semaphore, Random random) {
        Duration time = TckTiming.shorter(AT_WORK, tck.patience().dividedBy(2));
        int grants = 0;
        long since = System.nanoTime();
        while (System.nanoTime() - since < time.toNanos()) {
            try {
                Optional<Permit> permit = semaphore.tryAcquire();
                grants += permit.isPresent() ? 1 : 0;
                permit.ifPresent(Permit::close);
            } catch (BackendUnavailableException | OutcomeUnknownException e) {
                AssertionError failure =
                        tck.late("an attempt failed while the backend is well: " + e, System.nanoTime());
                failure.initCause(e);
                return new Tally(grants, failure);
            }
            Pause.millis(random.nextInt(40));
        }
        return new Tally(grants, null);
    }

    /** Refusals, grants and releases are judged together: there is one order of all calls that explains each answer. */
    @Test
    @Rule({"1.2", "2.8"})
    void oneOrderOfAllCallsExplainsEveryRefusal(TckFixture tck) {
        Workload workload = Workload.of(3, 6, tck.random().nextLong())
                .withLargest(2)
                // Where a call takes milliseconds, shorter holds would hardly ever be three at once.
                .withTimes(20_000, 100)
                .withRounds(tck.rounds(2_000, 200), (int) BUDGET.toMillis());
        History history = tck.contend(tck.create(3), 2, workload);
        assertThat(history.operations())
                .as("refusals, without which nothing was shown")
                .anyMatch(operation ->
                        operation.kind() == Operation.Kind.TRY && operation.outcome() == Operation.Outcome.REFUSED);
    }

    @Test
    @Rule("2.9")
    void afterThousandsOfRoundsExactlyTheLimitCanBeHad(TckFixture tck) throws Exception {
        String name = tck.create(3);
        List<Task<Void>> tasks = new ArrayList<>();
        for (SemaphoreClient client : List.of(tck.home(), tck.client())) {
            for (int i = 0; i < 2; i++) {
                Random random = new Random(tck.random().nextLong());
                tasks.add(tck.spawn("round tripper", () -> {
                    for (int unused : tck.repeat(2_500, BUDGET)) {
                        DistributedSemaphore semaphore = client.semaphore(name);
                        PermitGroup group = semaphore.acquire(1 + random.nextInt(2), tck.patience());
                        group.permits().get(0).release();
                        group.close();
                        group.permits().get(0).close();
                    }
                    return null;
                }));
            }
        }
        for (Task<Void> task : tasks) {
            task.result();
        }
        tck.assertFree(name, 3);
    }

    @Test
    @Rule("2.13")
    void crowdsOfBlockedWaitersDelayNoOtherName(TckFixture tck) throws Exception {
        String busy = tck.create(1);
        String quiet = tck.create(1);
        Permit held = tck.home().semaphore(busy).acquire(tck.patience());
        List<CompletableFuture<Permit>> crowd = new ArrayList<>();
        List<Task<Permit>> threads = new ArrayList<>();
        for (int i = 0; i < tck.rounds(400, 60); i++) {
            crowd.add(tck.home().semaphore(busy).acquireAsync());
            if (i % 4 == 0) {
                threads.add(tck.spawn(
                        "blocked " + i, () -> tck.home().semaphore(busy).acquire()));
            }
        }
        threads.forEach(Task::awaitBlocked);
        for (int unused : tck.repeat(50, BUDGET)) {
            long since = System.nanoTime();
            tck.home().semaphore(quiet).acquire(tck.patience()).release();
            tck.assertWithin(Bound.OPERATION, tck.guarantees().callBound().multipliedBy(2), System.nanoTime() - since);
        }
        crowd.forEach(future -> future.cancel(true));
        threads.forEach(Task::interrupt);
        threads.forEach(task -> task.failure(InterruptedException.class));
        held.release();
        tck.assertFree(busy, 1);
    }

    /** No order is promised between clients: their shares are noted and not judged. */
    @Test
    @Rule("11.3")
    void theSharesOfContendingClientsAreNoted(TckFixture tck, TestReporter reporter) throws Exception {
        String name = tck.create(1);
        int contenders = 4;
        AtomicIntegerArray turns = new AtomicIntegerArray(contenders);
        AtomicBoolean over = new AtomicBoolean();
        List<Task<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < contenders; i++) {
            int me = i;
            SemaphoreClient client = tck.client();
            tasks.add(tck.spawn("contending client", () -> {
                while (!over.get()) {
                    client.semaphore(name).acquire(tck.patience()).release();
                    // A turn that came after the contest is no share of it.
                    turns.addAndGet(me, over.get() ? 0 : 1);
                }
                return null;
            }));
        }
        tck.proveNothing("the contest goes on", Duration.ofMillis(tck.rounds(5_000, 500)), () -> !over.get());
        over.set(true);
        for (Task<Void> task : tasks) {
            task.result();
        }
        reporter.publishEntry("turns of each client", turns.toString());
    }
}
