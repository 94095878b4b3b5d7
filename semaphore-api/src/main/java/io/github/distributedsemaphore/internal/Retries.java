package io.github.distributedsemaphore.internal;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * When a backend that did not answer is asked again, for all semaphores of one client: one of them tries at a time, at intervals
 * that grow with each failure and are jittered. Once anybody is answered, the others follow at once, one by one. So a
 * thousand names ask no more often during an outage than one does. Thread-safe; runs nothing under its lock.
 */
final class Retries {
    private static final long FIRST_NANOS = 20_000_000;
    static final long LONGEST_NANOS = 2_000_000_000;
    private static final long ONE_BY_ONE_NANOS = 1_000_000;

    private final Environment environment;
    private final Deque<Retry> waiting = new ArrayDeque<>();
    private volatile int failures;
    private Environment.@Nullable Timer timer;

    private record Retry(Runnable task, long earliest) {}

    Retries(Environment environment) {
        this.environment = environment;
    }

    /** Runs a task on a worker when it is its turn; the task asks the backend, and says how that went. */
    synchronized void later(Runnable task) {
        waiting.add(new Retry(task, environment.nanoTime() + jittered(FIRST_NANOS)));
        if (timer == null) {
            arm();
        }
    }

    /** A request was not answered. */
    synchronized void failed() {
        failures = Math.min(failures + 1, 16);
    }

    /** A request was answered. */
    void answered() {
        if (failures > 0) {
            askSoon();
        }
    }

    private synchronized void askSoon() {
        failures = 0;
        if (timer != null) {
            timer.cancel();
            arm();
        }
    }

    private void arm() {
        long delay = ONE_BY_ONE_NANOS;
        if (failures > 0) {
            delay = jittered(Math.min(FIRST_NANOS << failures, LONGEST_NANOS));
        }
        long earliest = waiting.element().earliest() - environment.nanoTime();
        timer = environment.schedule(this::next, Math.max(delay, earliest));
    }

    private long jittered(long nanos) {
        return nanos / 2 + environment.random(nanos / 2 + 1);
    }

    private void next() {
        Retry retry;
        synchronized (this) {
            timer = null;
            retry = waiting.poll();
            if (!waiting.isEmpty()) {
                arm();
            }
        }
        if (retry != null) {
            retry.task().run();
        }
    }
}
