package io.github.distributedsemaphore.benchmarks.cells;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * What a cell gave.
 *
 * @param cell what was measured
 * @param rounds how often
 * @param millis for how long each time
 * @param samples what each variant did in each round
 */
public record CellResult(Cell cell, int rounds, long millis, Map<String, List<Sample>> samples) {
    public Series figure(String variant, ToDoubleFunction<Sample> figure) {
        return new Series(of(variant).stream().mapToDouble(figure).boxed().collect(Collectors.toList()));
    }

    /** The ratio within each round to the best of the others, which is the largest if more is better. */
    public Series ratio(String variant, List<String> others, boolean moreIsBetter, ToDoubleFunction<Sample> figure) {
        return new Series(IntStream.range(0, rounds)
                .mapToObj(round -> {
                    DoubleStream theirs = others.stream()
                            .mapToDouble(other -> figure.applyAsDouble(of(other).get(round)));
                    double best = (moreIsBetter ? theirs.max() : theirs.min()).orElseThrow();
                    return figure.applyAsDouble(of(variant).get(round)) / best;
                })
                .collect(Collectors.toList()));
    }

    private List<Sample> of(String variant) {
        return Objects.requireNonNull(samples.get(variant), variant);
    }
}
