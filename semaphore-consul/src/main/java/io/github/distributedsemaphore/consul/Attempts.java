package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.util.concurrent.ThreadLocalRandom;

/** How often and for how long a change is tried while others come in between. For one thread. */
final class Attempts {
    private static final int OF_RELEASE = 4;
    private static final int LONGEST_BACK_OFF_MILLIS = 50;

    private final Deadline end;
    private final Deadline endOfChange;
    private long begunNanos = System.nanoTime();
    private long longestNanos;
    private int failed;

    /**
     * Begins.
     *
     * @param end when it has to be over
     */
    Attempts(Deadline end) {
        this.end = end;
        this.endOfChange = part(end, 3, 4);
    }

    /** Returns the deadline of something that may take a part of the time that is left. */
    static Deadline part(Deadline end, int numerator, int denominator) {
        long now = System.nanoTime();
        return Deadline.at(now + end.nanosFrom(now) / denominator * numerator);
    }

    /** Returns when it has to be over. */
    Deadline end() {
        return end;
    }

    /** Returns until when to wait for an answer to a change, so that time is left to find out what became of it. */
    Deadline endOfChange() {
        Deadline half = part(end, 1, 2);
        return endOfChange.isBefore(half) ? half : endOfChange;
    }

    /** Whether none has failed yet. */
    boolean isFirst() {
        return failed == 0;
    }

    /** Whether it is time to give back in a way in which nobody can come in between. */
    boolean isTimeToForceRelease() {
        return failed == OF_RELEASE;
    }

    /** Counts a failed attempt; returns whether another one would come to its end, going by the longest so far. */
    boolean goesOn() {
        long now = System.nanoTime();
        failed++;
        longestNanos = Math.max(longestNanos, now - begunNanos);
        begunNanos = now;
        return end.nanosFrom(now) > longestNanos;
    }

    /** Leaves the others time before the next attempt. */
    void backOff(InterruptShield shield) {
        shield.pause(backOffNanos());
    }

    /** For how long to wait before the next one. */
    long backOffNanos() {
        int bound = Math.min(LONGEST_BACK_OFF_MILLIS, 1 << Math.min(failed - 1, 10));
        return ThreadLocalRandom.current().nextLong(bound * 1_000_000L);
    }
}
