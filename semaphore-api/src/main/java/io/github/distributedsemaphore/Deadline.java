package io.github.distributedsemaphore;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * An instant on this process's monotonic clock ({@link System#nanoTime}), or never.
 *
 * <p>Immutable. It means nothing in another process and is never derived from the wall clock, so a clock that is set
 * forwards or backwards moves no deadline.
 */
public final class Deadline {
    /** The deadline that does not come. */
    public static final Deadline NEVER = new Deadline(0, true);

    /** Waits longer than this count as endless: far below the range in which {@code nanoTime} differences overflow. */
    private static final Duration ENDLESS = Duration.ofDays(365L * 100);

    private final long nanoTime;
    private final boolean never;

    private Deadline(long nanoTime, boolean never) {
        this.nanoTime = nanoTime;
        this.never = never;
    }

    /**
     * Returns the deadline at a reading of the monotonic clock.
     *
     * @param nanoTime a value on the scale of {@link System#nanoTime}, in nanoseconds
     * @return the deadline at that instant
     */
    public static Deadline at(long nanoTime) {
        return new Deadline(nanoTime, false);
    }

    /**
     * Returns the deadline a while after an instant; a while of a hundred years or more is {@link #NEVER}.
     *
     * @param nanoTime the instant to count from, on the scale of {@link System#nanoTime}, in nanoseconds
     * @param wait how long after it; negative counts as zero
     * @return the deadline
     */
    public static Deadline after(long nanoTime, Duration wait) {
        if (wait.compareTo(ENDLESS) >= 0) {
            return NEVER;
        }
        return at(nanoTime + (wait.isNegative() ? 0 : wait.toNanos()));
    }

    /**
     * Tells whether this deadline never comes.
     *
     * @return true for {@link #NEVER}
     */
    public boolean isNever() {
        return never;
    }

    /**
     * Tells whether this deadline has come by an instant; the instant itself counts as come.
     *
     * @param nanoTime the instant, on the scale of {@link System#nanoTime}, in nanoseconds
     * @return true if it has come
     */
    public boolean isPast(long nanoTime) {
        return !never && this.nanoTime - nanoTime <= 0;
    }

    /**
     * Returns how long it is from an instant until this deadline.
     *
     * @param nanoTime the instant, on the scale of {@link System#nanoTime}, in nanoseconds
     * @return nanoseconds, zero if the deadline has come, {@link Long#MAX_VALUE} if it never comes
     */
    public long nanosFrom(long nanoTime) {
        return never ? Long.MAX_VALUE : Math.max(0, this.nanoTime - nanoTime);
    }

    /**
     * Returns how long it is from now until this deadline, by {@link System#nanoTime}.
     *
     * @return zero if the deadline has come; about 292 years if it never comes
     */
    public Duration remaining() {
        return Duration.ofNanos(nanosFrom(System.nanoTime()));
    }

    /**
     * Returns the earlier of two deadlines.
     *
     * @param other the other one
     * @return this or the other, whichever comes first
     */
    public Deadline earlier(Deadline other) {
        return other.isBefore(this) ? other : this;
    }

    /**
     * Tells whether this deadline comes first.
     *
     * @param other the other one
     * @return true if it is earlier than the other, false if they are equal
     */
    public boolean isBefore(Deadline other) {
        return !never && (other.never || nanoTime - other.nanoTime < 0);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Deadline that && never == that.never && nanoTime == that.nanoTime;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(nanoTime) + Boolean.hashCode(never);
    }

    @Override
    public String toString() {
        return never ? "never" : "in " + remaining();
    }
}
