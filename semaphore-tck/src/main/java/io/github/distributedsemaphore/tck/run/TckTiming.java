package io.github.distributedsemaphore.tck.run;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.tck.agent.Heartbeat;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** How long the kit waits for what must happen, and how long it looks for what must not. */
public record TckTiming(TckSettings settings, Heartbeat heartbeat) {
    private static final Duration QUIET = Duration.ofMillis(150);
    private static final Duration QUIET_FULL = Duration.ofSeconds(1);
    private static final Duration LATELY = Duration.ofSeconds(1);

    /** A machine that lately stood still for longer is busy. */
    private static final Duration BUSY = Duration.ofMillis(20);

    private static final int TRIES = 3;
    private static final int LEAST_ROUNDS = 3;

    public Duration patience() {
        return settings.scaled(settings.patience());
    }

    public Duration quiet() {
        return settings.scaled(settings.full() ? QUIET_FULL : QUIET);
    }

    public static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    /** Tells whether a time is over, not counting how long the machine itself stood still. */
    public boolean isOver(Duration time, long since) {
        return isLonger(time, since, System.nanoTime());
    }

    /** Tells whether more than a time passed between two instants, not counting how long the machine itself stood still. */
    public boolean isLonger(Duration time, long from, long to) {
        return to - from > time.toNanos() && to - from - stoodStill(from, to) > time.toNanos();
    }

    /** Returns for how many nanoseconds the machine itself stood still between two instants that have passed. */
    public long stoodStill(long from, long to) {
        return heartbeat.stoodStill(from, to);
    }

    /** Returns an error for what came too late at an instant that has passed. */
    public AssertionError late(String message, long ended) {
        Duration still = Duration.ofNanos(stoodStill(ended - LATELY.toNanos(), ended));
        String told = message + "; in the second before, the machine stood still for " + still.toMillis() + " ms";
        return still.compareTo(BUSY) > 0 ? new LateOnBusyMachineError(told) : new AssertionError(told);
    }

    /** Calls something again, up to three times, if it was late while the machine was busy. */
    public void inTime(Callable<?> judged) throws Exception {
        for (int tries = 1; ; tries++) {
            try {
                judged.call();
                return;
            } catch (LateOnBusyMachineError e) {
                if (tries == TRIES) {
                    throw e;
                }
            }
        }
    }

    private static final class LateOnBusyMachineError extends AssertionError {
        private static final long serialVersionUID = 1;

        LateOnBusyMachineError(String message) {
            super(message);
        }
    }

    /** Returns for how long a permit is valid from now on, which after a grant or a renewal is a whole validity; zero if without end. */
    public static Duration validity(Deadline until) {
        return until.isNever() ? Duration.ZERO : Duration.ofNanos(Math.max(1, until.nanosFrom(System.nanoTime())));
    }

    /**
     * Tells whether the machine stood still for so long that a permit may be lost: at a stretch for half of its validity, or for two
     * thirds of it in many short pauses. A shorter delay does no harm: the renewals still come in time. What has no validity is not
     * lost by a pause.
     */
    public boolean mayLose(Duration validity, long from, long to) {
        return !validity.isZero()
                && (heartbeat.longestPause(from, to) > validity.dividedBy(2).toNanos()
                        || heartbeat.mostStoodStill(validity, from, to)
                                > validity.multipliedBy(2).dividedBy(3).toNanos());
    }

    /**
     * Waits until something is true.
     *
     * @param start since when, as {@link System#nanoTime} says
     */
    public void await(String what, Duration bound, long start, BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            if (isOver(bound, start)) {
                Duration still = Duration.ofNanos(stoodStill(start, System.nanoTime()));
                throw new AssertionError("not within " + bound + ", in which the machine stood still for " + still
                        + ": " + what + "\n" + ThreadDump.all());
            }
            Pause.millis(1);
        }
    }

    /** To look may cost the stacks of all threads, or a process, so it looks ever more seldom. */
    void awaitEmpty(String what, Duration bound, Supplier<Set<String>> left) {
        long start = System.nanoTime();
        for (Set<String> now = left.get(); !now.isEmpty(); now = left.get()) {
            if (isOver(bound, start)) {
                throw new AssertionError(what + ": " + now);
            }
            Pause.millis(Math.min(
                    50, 2 + Duration.ofNanos(System.nanoTime() - start).toMillis() / 10));
        }
    }

    public void proveNothing(String what, Duration time, BooleanSupplier stays) {
        long start = System.nanoTime();
        do {
            requireStill(what, start, stays);
            Pause.millis(2);
        } while (System.nanoTime() - start < time.toNanos());
        // On a busy machine that pause may have taken all of the time.
        requireStill(what, start, stays);
    }

    private static void requireStill(String what, long start, BooleanSupplier stays) {
        if (!stays.getAsBoolean()) {
            throw new AssertionError("expected to stay true, but was false after "
                    + Duration.ofNanos(System.nanoTime() - start) + ": " + what);
        }
    }

    public Iterable<Integer> repeat(int rounds, Duration budget) {
        long start = System.nanoTime();
        return () -> new Iterator<>() {
            private int next;

            @Override
            public boolean hasNext() {
                boolean inTime = next < LEAST_ROUNDS
                        || System.nanoTime() - start < settings.budget(budget).toNanos();
                return next < rounds && inTime;
            }

            @Override
            public Integer next() {
                // Not hasNext(): the time may have run out since it was asked.
                if (next >= rounds) {
                    throw new NoSuchElementException();
                }
                return next++;
            }
        };
    }
}
