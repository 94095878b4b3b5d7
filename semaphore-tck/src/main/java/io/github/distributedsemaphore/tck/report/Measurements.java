package io.github.distributedsemaphore.tck.report;

import io.github.distributedsemaphore.tck.Bound;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/** What was measured: the bounds as they really were, in nanoseconds, and recorded histories. Thread-safe. */
public final class Measurements {
    private static final long HIGHEST = 3_600_000_000_000L;

    private final Map<Bound, Histogram> histograms = new EnumMap<>(Bound.class);
    private final Queue<HistoryFigures> histories = new ConcurrentLinkedQueue<>();

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
     * Adds the figures of a history.
     *
     * @param figures the figures
     */
    public void add(HistoryFigures figures) {
        histories.add(figures);
    }

    /**
     * Returns the figures of all histories so far.
     *
     * @return in the order of their shapes' names; unmodifiable
     */
    public List<HistoryFigures> histories() {
        return histories.stream()
                .sorted(Comparator.comparing(HistoryFigures::shape))
                .toList();
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
