package io.github.distributedsemaphore.benchmarks.cells;

import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** One figure over the rounds of a run: the median is what counts, the extremes are the noise. */
public record Series(List<Double> values) {
    public Series {
        if (values.isEmpty()) {
            throw new IllegalArgumentException("a series of no rounds");
        }
        values = List.copyOf(values);
    }

    public double median() {
        List<Double> sorted = values.stream().sorted().toList();
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }

    public double min() {
        return values.stream().min(Comparator.naturalOrder()).orElseThrow();
    }

    public double max() {
        return values.stream().max(Comparator.naturalOrder()).orElseThrow();
    }

    /** The median with the noise behind it. */
    @Override
    public String toString() {
        return rounded(median()) + " (" + rounded(min()) + ".." + rounded(max()) + ")";
    }

    /** Three digits that say something, no more than two behind the point. */
    public static String rounded(double value) {
        double size = Math.abs(value);
        return String.format(Locale.ROOT, size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : "%.2f", value);
    }
}
