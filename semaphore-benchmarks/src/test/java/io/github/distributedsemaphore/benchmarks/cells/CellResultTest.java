package io.github.distributedsemaphore.benchmarks.cells;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;

class CellResultTest {
    private static final Cell CELL = new Cell("cell", "a cell", 1, 1, false, List.of(), List.of());

    private final CellResult result = new CellResult(
            CELL, 3, 1, Map.of("ours", rates(10, 40, 90), "slow", rates(1, 1, 1), "fast", rates(5, 20, 10)));

    private static List<Sample> rates(double... pairs) {
        return DoubleStream.of(pairs)
                .mapToObj(rate -> new Sample(rate, 1 / rate, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
                .toList();
    }

    @Test
    void aRatioIsTakenWithinEachRoundAndToTheBetterPeer() {
        Series ratio = result.ratio("ours", List.of("slow", "fast"), true, Sample::pairsPerSecond);

        assertThat(ratio.values()).containsExactly(2.0, 2.0, 9.0);
        assertThat(ratio).hasToString("2.00 (2.00..9.00)");
    }

    @Test
    void theBetterPeerIsTheSmallerOneWhereLessIsBetter() {
        Series ratio = result.ratio("ours", List.of("slow", "fast"), false, Sample::p50Micros);

        assertThat(ratio.values()).containsExactly(0.5, 0.5, 1.0 / 9);
    }

    @Test
    void theMedianDecidesWhetherATargetIsReached() {
        Target atLeast = Target.atLeast(40, "pairs/s", r -> r.figure("ours", Sample::pairsPerSecond));
        Target atMost = Target.atMost(39, "pairs/s", r -> r.figure("ours", Sample::pairsPerSecond));

        assertThat(atLeast.verdict(result)).isEqualTo("at least 40 pairs/s: 40.0 (10.0..90.0), reached");
        assertThat(atMost.verdict(result)).isEqualTo("at most 39 pairs/s: 40.0 (10.0..90.0), NOT REACHED");
    }

    @Test
    void theMedianOfAnEvenNumberIsInTheMiddle() {
        assertThat(new Series(List.of(4.0, 1.0, 3.0, 2.0)).median()).isEqualTo(2.5);
    }
}
