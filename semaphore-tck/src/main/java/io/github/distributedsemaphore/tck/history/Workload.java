package io.github.distributedsemaphore.tck.history;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that contend for one semaphore: a random mix, repeatable by its seed, of attempts, timed waits, one permit and
 * several, with short holds. Immutable; change it with the {@code with} methods.
 *
 * @param limit the limit of the semaphore
 * @param threads how many threads
 * @param rounds how many acquires each makes
 * @param largest the most permits that one acquire asks for
 * @param holdMicros the longest hold in microseconds, or as long as an attempt takes; 0 for no hold
 * @param waitMillis the longest wait in milliseconds, or as long as three attempts take; the shortest is none
 * @param budgetMillis after how many milliseconds to stop although there are rounds left
 * @param enoughHeld goes on beyond rounds and budget, for half a minute at the most, until ten permits were granted and so many
 *     were held at once; 0 to stop in any case
 * @param seed where the random choices come from
 * @param mayFail whether a call may fail because the backend is too slow for it, or because the semaphore is gone or has a
 *     lower limit; then the next one is made
 */
public record Workload(
        int limit,
        int threads,
        int rounds,
        int largest,
        int holdMicros,
        int waitMillis,
        int budgetMillis,
        int enoughHeld,
        long seed,
        boolean mayFail) {

    /** In percent: how many acquires do not wait, and how many of the others wait as long as it takes. */
    private static final int TRIES = 30;

    /** A busy machine may need all of the budget for the first calls, and a run that reached nothing proves nothing. */
    private static final Duration MORE = Duration.ofSeconds(30);

    private static final int ENOUGH_GRANTS = 10;

    private static final Duration PATIENCE = MORE.plusMinutes(1);

    /**
     * Returns a workload of one-permit acquires that takes about a second or less.
     *
     * @param limit the limit of the semaphore
     * @param threads how many threads
     * @param seed where the random choices come from
     * @return the workload
     */
    public static Workload of(int limit, int threads, long seed) {
        return new Workload(limit, threads, 200, 1, 200, 20, 2_000, 0, seed, false);
    }

    /**
     * Returns the same with other rounds.
     *
     * @param newRounds how many acquires each thread makes
     * @param newBudgetMillis after how many milliseconds to stop
     * @return a copy
     */
    public Workload withRounds(int newRounds, int newBudgetMillis) {
        return new Workload(
                limit, threads, newRounds, largest, holdMicros, waitMillis, newBudgetMillis, enoughHeld, seed, mayFail);
    }

    /**
     * Returns the same with acquires of several permits.
     *
     * @param newLargest the most permits that one acquire asks for
     * @return a copy
     */
    public Workload withLargest(int newLargest) {
        return new Workload(
                limit, threads, rounds, newLargest, holdMicros, waitMillis, budgetMillis, enoughHeld, seed, mayFail);
    }

    /**
     * Returns the same with other times.
     *
     * @param newHoldMicros the longest hold in microseconds
     * @param newWaitMillis the longest wait in milliseconds
     * @return a copy
     */
    public Workload withTimes(int newHoldMicros, int newWaitMillis) {
        return new Workload(
                limit, threads, rounds, largest, newHoldMicros, newWaitMillis, budgetMillis, enoughHeld, seed, mayFail);
    }

    /**
     * Returns the same in which a call may fail because the backend is too slow for it, or because the semaphore is gone or has a
     * lower limit. What such a call did is judged all the same.
     *
     * @return a copy
     */
    public Workload withFailures() {
        return new Workload(
                limit, threads, rounds, largest, holdMicros, waitMillis, budgetMillis, enoughHeld, seed, true);
    }

    /**
     * Returns the same that goes on beyond rounds and budget, for half a minute at the most, until it shows something.
     *
     * @param newEnoughHeld how many permits have to be held at once
     * @return a copy
     */
    public Workload untilHeld(int newEnoughHeld) {
        return new Workload(
                limit, threads, rounds, largest, holdMicros, waitMillis, budgetMillis, newEnoughHeld, seed, mayFail);
    }

    /**
     * Returns how long the last call of a run may begin after the first.
     *
     * @return the time
     */
    public Duration longest() {
        Duration budget = Duration.ofMillis(budgetMillis);
        return enoughHeld == 0 ? budget : budget.plus(MORE);
    }

    /**
     * Runs it. Thread i uses semaphore i modulo the number of semaphores, which all have one name and may belong to
     * different clients.
     *
     * @param semaphores the semaphores
     * @param recorder records the calls
     * @return what happened
     * @throws AssertionError if a thread fails or does not end
     */
    public History run(List<DistributedSemaphore> semaphores, HistoryRecorder recorder) {
        ExecutorService executor = Executors.newFixedThreadPool(threads, task -> {
            Thread thread = new Thread(task, "tck-task workload");
            thread.setDaemon(true);
            return thread;
        });
        try {
            CyclicBarrier start = new CyclicBarrier(threads);
            Reached reached = new Reached();
            List<Future<?>> futures = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                DistributedSemaphore semaphore = semaphores.get(i % semaphores.size());
                ProcessLog log = recorder.process();
                Random random = new Random(seed * 31 + i);
                futures.add(executor.submit(() -> {
                    start.await();
                    contend(semaphore, log, random, reached);
                    return null;
                }));
            }
            join(futures);
            return recorder.history(limit);
        } finally {
            executor.shutdownNow();
            awaitEnd(executor);
        }
    }

    private static void join(List<Future<?>> futures) {
        for (Future<?> future : futures) {
            try {
                future.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            } catch (ExecutionException e) {
                throw new AssertionError("a thread of the workload failed: " + e.getCause(), e.getCause());
            } catch (TimeoutException e) {
                throw new AssertionError("a thread of the workload has not ended within " + PATIENCE, e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError("interrupted", e);
            }
        }
    }

    private static void awaitEnd(ExecutorService executor) {
        try {
            executor.awaitTermination(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** What all threads together have reached. */
    private static final class Reached {
        private final AtomicInteger grants = new AtomicInteger();
        private final AtomicInteger held = new AtomicInteger();
        private final AtomicInteger mostHeld = new AtomicInteger();

        void granted(int count) {
            grants.incrementAndGet();
            mostHeld.accumulateAndGet(held.addAndGet(count), Math::max);
        }

        void releasing(int count) {
            held.addAndGet(-count);
        }

        boolean isEnough(int enoughHeld) {
            return enoughHeld == 0 || (grants.get() >= ENOUGH_GRANTS && mostHeld.get() >= enoughHeld);
        }
    }

    private boolean goesOn(int turns, long nanos, Reached reached) {
        return (turns < rounds && nanos < budgetMillis * 1_000_000L)
                || (nanos < longest().toNanos() && !reached.isEnough(enoughHeld));
    }

    private void contend(DistributedSemaphore semaphore, ProcessLog log, Random random, Reached reached)
            throws InterruptedException {
        long start = System.nanoTime();
        long quickestTry = 0;
        for (int i = 0; goesOn(i, System.nanoTime() - start, reached); i++) {
            try {
                quickestTry = turn(semaphore, log, random, quickestTry, reached);
            } catch (BackendUnavailableException
                    | OutcomeUnknownException
                    | NoSuchSemaphoreException
                    | IllegalArgumentException e) {
                if (!mayFail) {
                    throw e;
                }
            }
        }
    }

    /**
     * Where an attempt takes longer than holds and waits do, nobody who waits would see a permit come, and hardly ever were all
     * held at once: there, both take as long as attempts. Returns the nanoseconds of the quickest attempt so far, 0 for none.
     */
    private long turn(DistributedSemaphore semaphore, ProcessLog log, Random random, long quickestTry, Reached reached)
            throws InterruptedException {
        int count = 1 + random.nextInt(largest);
        boolean attempt = random.nextInt(100) < TRIES;
        long start = System.nanoTime();
        Optional<ProcessLog.Grant> grant = attempt
                ? log.tryAcquire(semaphore, count)
                : log.acquire(semaphore, count, upTo(Math.max(waitMillis * 1_000_000L, 3 * quickestTry), random));
        long taken = System.nanoTime() - start;
        grant.ifPresent(unused -> reached.granted(count));
        if (holdMicros > 0) {
            LockSupport.parkNanos(
                    upTo(Math.max(holdMicros * 1_000L, quickestTry), random).toNanos());
        }
        if (grant.isPresent()) {
            reached.releasing(count);
            log.release(grant.get());
        }
        if (!attempt) {
            return quickestTry;
        }
        return quickestTry == 0 ? taken : Math.min(quickestTry, taken);
    }

    private static Duration upTo(long nanos, Random random) {
        return Duration.ofNanos((long) (random.nextDouble() * nanos));
    }
}
