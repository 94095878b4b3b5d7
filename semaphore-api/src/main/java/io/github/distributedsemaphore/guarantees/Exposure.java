package io.github.distributedsemaphore.guarantees;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** How long two holders of one slot may overlap because of a {@link Fault}. Immutable. */
public final class Exposure {
    /** The fault does not exist for the backend. */
    public static final Exposure CANNOT_HAPPEN = new Exposure(false, Duration.ZERO);

    /** The fault happens, and never makes two holders overlap. */
    public static final Exposure NONE = new Exposure(true, Duration.ZERO);

    /** The fault may make two holders overlap for as long as both run. */
    public static final Exposure UNBOUNDED = new Exposure(true, null);

    private final boolean possible;
    private final @Nullable Duration longest;

    private Exposure(boolean possible, @Nullable Duration longest) {
        this.possible = possible;
        this.longest = longest;
    }

    /**
     * Describes an overlap of limited length.
     *
     * @param longest the longest overlap; zero means {@link #NONE}
     * @return the exposure
     * @throws IllegalArgumentException if the duration is negative
     */
    public static Exposure atMost(Duration longest) {
        if (longest.isNegative()) {
            throw new IllegalArgumentException("An exposure of " + longest + " is negative; the least is zero");
        }
        return longest.isZero() ? NONE : new Exposure(true, longest);
    }

    /**
     * Tells whether the exposure covers an overlap of this length.
     *
     * @param overlap the length of an overlap
     * @return true if an overlap of this length is within what is declared
     */
    public boolean covers(Duration overlap) {
        return longest == null || overlap.compareTo(longest) <= 0;
    }

    /**
     * Tells whether two holders may overlap at all.
     *
     * @return false for {@link #NONE} and {@link #CANNOT_HAPPEN}
     */
    public boolean allowsOverlap() {
        return longest == null || !longest.isZero();
    }

    /**
     * Returns the longest overlap.
     *
     * @return zero if there is none; empty if it has no bound
     */
    public Optional<Duration> longest() {
        return Optional.ofNullable(longest);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Exposure that && possible == that.possible && Objects.equals(longest, that.longest);
    }

    @Override
    public int hashCode() {
        return Objects.hash(possible, longest);
    }

    @Override
    public String toString() {
        if (!possible) {
            return "cannot happen";
        }
        if (longest == null) {
            return "no bound";
        }
        return longest.isZero() ? "none" : "at most " + longest;
    }
}
