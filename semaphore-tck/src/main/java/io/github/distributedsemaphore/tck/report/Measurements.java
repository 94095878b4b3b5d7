package io.github.distributedsemaphore.tck.report;

import io.github.distributedsemaphore.tck.history.HistoryWindows;
import io.github.distributedsemaphore.tck.history.Sometimes;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/** What was measured: the bounds as they really were, in nanoseconds, and recorded histories. Thread-safe. */
public final class Measurements {
    private static final long HIGHEST = 3_600_000_000_000L;

    private final Map<Bound, Histogram> histograms = new EnumMap<>(Bound.class);
    private final Queue<HistoryFigures> histories = new ConcurrentLinkedQueue<>();
    private final Queue<HistoryWindows> windows = new ConcurrentLinkedQueue<>();
    private final Set<Sometimes> expected = ConcurrentHashMap.newKeySet();
    private final Map<Sometimes, Long> reached = new ConcurrentHashMap<>();

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
     * Adds what a page shows of a history.
     *
     * @param shown its windows
     */
    public void add(HistoryWindows shown) {
        windows.add(shown);
    }

    List<HistoryWindows> windows() {
        return windows.stream()
                .sorted(Comparator.comparing(HistoryWindows::title))
                .toList();
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
     * Says which states the run has to reach, or it could not have failed.
     *
     * @param states the states
     */
    public void expect(Set<Sometimes> states) {
        expected.addAll(states);
    }

    /**
     * Notes that a state was reached.
     *
     * @param state the state
     * @param times how often
     */
    public void reached(Sometimes state, long times) {
        reached.merge(state, times, Long::sum);
    }

    /**
     * Returns which states were expected and which were reached.
     *
     * @return one for each state that there is
     */
    public List<StateFigures> states() {
        return Arrays.stream(Sometimes.values())
                .map(state -> new StateFigures(state, expected.contains(state), reached.getOrDefault(state, 0L)))
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
