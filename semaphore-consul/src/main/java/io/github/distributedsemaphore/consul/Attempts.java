package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.InterruptShield;
import java.util.concurrent.ThreadLocalRandom;

/** How often and for how long a change is tried while others come in between. For one thread. */
final class Attempts {
    private static final int OF_RELEASE = 4;
    private static final int LONGEST_BACK_OFF_MILLIS = 50;

    private final Deadline end;
    private final Deadline lastBegin;
    private int failed;

    /**
     * Begins.
     *
     * @param end when it has to be over
     */
    Attempts(Deadline end) {
        this.end = end;
        this.lastBegin = part(end, 3, 4);
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
        return part(end, 1, 2);
    }

    /** Whether it is time to give back in a way in which nobody can come in between. */
    boolean isTimeToForceRelease() {
        return failed == OF_RELEASE;
    }

    /** Counts a failed attempt; returns whether there is to be another one. */
    boolean goesOn() {
        failed++;
        return isTimeLeft();
    }

    /** Whether an attempt that begins now may come to its end. */
    boolean isTimeLeft() {
        return !lastBegin.isPast(System.nanoTime());
    }

    /** Leaves the others time before the next one. */
    void backOff(InterruptShield shield) {
        shield.pause(backOffNanos());
    }

    /** For how long to wait before the next one. */
    long backOffNanos() {
        int bound = Math.min(LONGEST_BACK_OFF_MILLIS, 1 << Math.min(failed - 1, 10));
        return ThreadLocalRandom.current().nextLong(bound * 1_000_000L);
    }
}
