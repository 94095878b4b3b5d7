package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.util.concurrent.ThreadLocalRandom;

/** Waits for nothing but time, which an interrupt neither ends nor is lost in. */
public final class Pause {
    private static final int MOST_DOUBLINGS = 6;

    private Pause() {}

    /** Returns at that time. */
    public static void until(Deadline end) {
        try (InterruptShield shield = new InterruptShield()) {
            while (!end.isPast(System.nanoTime())) {
                shield.pause(end.nanosFrom(System.nanoTime()));
            }
        }
    }

    /**
     * Waits before another attempt, so that many that fail because of each other come one after the other: for a random time, which
     * is at most as long as the attempt that failed, and at most twice as long with each failure before it.
     *
     * @param attemptNanos how long the failed attempt took
     * @param failures how many failed before it
     * @param deadline when it returns at the latest
     */
    public static void backOff(long attemptNanos, int failures, Deadline deadline) {
        long most = Math.max(0, attemptNanos) << Math.min(failures, MOST_DOUBLINGS);
        until(Deadline.at(System.nanoTime() + ThreadLocalRandom.current().nextLong(most + 1))
                .earlier(deadline));
    }
}
