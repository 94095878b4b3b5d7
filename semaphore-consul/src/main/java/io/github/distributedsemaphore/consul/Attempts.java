package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.Deadline;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** How often and for how long a change is tried while others come in between. For one thread. */
final class Attempts {
    /** After this time no further attempt begins. */
    static final Duration BUDGET = Duration.ofSeconds(6);
    /** Over a slow link others come in between more often, and there are fewer attempts in the same time. */
    private static final Duration LONG_BUDGET = Duration.ofSeconds(25);

    private static final int FEW = 10;
    private static final int OF_RELEASE = 4;
    private static final int LONGEST_BACK_OFF_MILLIS = 50;

    private final Deadline end = Deadline.after(System.nanoTime(), BUDGET);
    private final Deadline longEnd = Deadline.after(System.nanoTime(), LONG_BUDGET);
    private int failed;

    /** When what is unknown has to be known. */
    Deadline end() {
        return end;
    }

    /** Whether it is time to give back in a way in which nobody can come in between. */
    boolean isTimeToForceRelease() {
        return failed == OF_RELEASE;
    }

    /** Counts a failed attempt; returns whether there is to be another one. */
    boolean goesOn() {
        failed++;
        return !(failed < FEW ? longEnd : end).isPast(System.nanoTime());
    }

    /** For how long to wait before the next one. */
    long backOffNanos() {
        int bound = Math.min(LONGEST_BACK_OFF_MILLIS, 1 << Math.min(failed - 1, 10));
        return ThreadLocalRandom.current().nextLong(bound * 1_000_000L);
    }
}
