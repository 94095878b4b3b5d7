package io.github.distributedsemaphore.tck.history;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Threads that take single permits and give them back until they are told to end, whatever goes wrong meanwhile. What they hold for
 * seconds spans a fail-over; what they hold for milliseconds keeps the traffic up.
 */
public final class Endurance {
    private static final int LONGEST_WAIT_MILLIS = 100;
    private static final int AFTER_FAILURE_MILLIS = 5;
    private static final int BRIEF_HOLD_MILLIS = 6;
    private static final int LASTING_HOLD_MILLIS = 15_000;
    private static final int LONGEST_REST_MILLIS = 20;

    private final HistoryRecorder recorder;
    private final AtomicBoolean over = new AtomicBoolean();
    private final List<Thread> threads = new ArrayList<>();
    private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();

    /**
     * Starts the threads.
     *
     * @param semaphore where
     * @param recorder records their calls
     * @param brief how many threads hold for up to six milliseconds at a time, and rest for up to twenty in between
     * @param lasting how many threads hold for up to fifteen seconds at a time
     * @param seed where the random choices come from
     */
    public Endurance(DistributedSemaphore semaphore, HistoryRecorder recorder, int brief, int lasting, long seed) {
        this.recorder = recorder;
        for (int i = 0; i < brief + lasting; i++) {
            Random random = new Random(seed * 31 + i);
            boolean isBrief = i < brief;
            Thread thread = new Thread(() -> turns(semaphore, recorder, random, over, holding -> {
                if (holding) {
                    Thread.sleep(random.nextInt(isBrief ? BRIEF_HOLD_MILLIS : LASTING_HOLD_MILLIS));
                } else if (isBrief) {
                    Thread.sleep(random.nextInt(LONGEST_REST_MILLIS));
                }
            }));
            thread.setName("tck-task endurance");
            thread.setUncaughtExceptionHandler((failed, failure) -> failures.add(failure));
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
    }

    /** What a thread does with its time. */
    @FunctionalInterface
    public interface Pastime {
        /**
         * Lets time pass.
         *
         * @param holding whether the thread holds a permit; if not, its turn is over
         * @throws InterruptedException if the thread is interrupted, which ends it
         */
        void pass(boolean holding) throws InterruptedException;
    }

    /**
     * Takes a permit and gives it back, again and again. After a call that failed for the backend, or because the semaphore is
     * gone, the thread goes on as another process of the history. Any other exception is passed on.
     *
     * @param semaphore where
     * @param recorder records the calls
     * @param random where the random choices come from
     * @param over ends it
     * @param pastime what is done with a permit and after it
     */
    public static void turns(
            DistributedSemaphore semaphore,
            HistoryRecorder recorder,
            Random random,
            AtomicBoolean over,
            Pastime pastime) {
        ProcessLog log = recorder.process();
        while (!over.get()) {
            try {
                try {
                    Optional<ProcessLog.Grant> grant = random.nextInt(4) == 0
                            ? log.tryAcquire(semaphore, 1)
                            : log.acquire(semaphore, 1, Duration.ofMillis(random.nextInt(LONGEST_WAIT_MILLIS)));
                    if (grant.isPresent()) {
                        pastime.pass(true);
                        log.release(grant.get());
                    }
                } catch (BackendUnavailableException
                        | OutcomeUnknownException
                        | BackendAccessException
                        | NoSuchSemaphoreException e) {
                    log = recorder.process();
                    Thread.sleep(AFTER_FAILURE_MILLIS);
                }
                pastime.pass(false);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /**
     * Has the threads end after what they do now.
     *
     * @param limit the limit of the semaphore
     * @param patience the longest wait for the threads
     * @return what happened
     * @throws IllegalStateException if a thread does not end, or ended by an exception
     * @throws InterruptedException if the calling thread is interrupted
     */
    public History end(int limit, Duration patience) throws InterruptedException {
        over.set(true);
        long end = System.nanoTime() + patience.toNanos();
        for (Thread thread : threads) {
            thread.join(Math.max(1, (end - System.nanoTime()) / 1_000_000));
            if (thread.isAlive()) {
                throw new IllegalStateException(
                        "a thread has not ended within " + patience + ": " + List.of(thread.getStackTrace()));
            }
        }
        if (!failures.isEmpty()) {
            throw new IllegalStateException(
                    "a call failed by something else than the backend: " + failures, failures.peek());
        }
        return recorder.history(limit);
    }
}
