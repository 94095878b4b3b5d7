package io.github.distributedsemaphore.tck.report;

import io.github.distributedsemaphore.tck.Bound;
import java.util.EnumMap;
import java.util.Map;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/** What the bounds really were, in nanoseconds. Thread-safe. */
public final class Measurements {
    private static final long HIGHEST = 3_600_000_000_000L;

    private final Map<Bound, Histogram> histograms = new EnumMap<>(Bound.class);

    /** Creates it, empty. */
    public Measurements() {
        for (Bound bound : Bound.values()) {
            histograms.put(bound, new ConcurrentHistogram(HIGHEST, 2));
        }
    }

    /**
     * Adds a value.
     *
     * @param bound of which bound
     * @param nanos the value; negative counts as zero, more than an hour as an hour
     */
    public void add(Bound bound, long nanos) {
        of(bound).recordValue(Math.max(0, Math.min(HIGHEST, nanos)));
    }

    /**
     * Returns the values of a bound.
     *
     * @param bound the bound
     * @return its histogram
     */
    public Histogram of(Bound bound) {
        Histogram histogram = histograms.get(bound);
        if (histogram == null) {
            throw new IllegalStateException("no histogram for " + bound);
        }
        return histogram;
    }
}
