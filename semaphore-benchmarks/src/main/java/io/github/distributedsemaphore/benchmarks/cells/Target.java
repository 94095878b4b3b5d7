package io.github.distributedsemaphore.benchmarks.cells;

import java.math.BigDecimal;
import java.util.function.Function;

/**
 * What a cell is to reach, as the median over the rounds.
 *
 * @param claim in words, with the bound
 * @param atLeast whether the bound is a lower one
 * @param bound the bound
 * @param figure what is held against it
 */
public record Target(String claim, boolean atLeast, double bound, Function<CellResult, Series> figure) {
    public static Target atLeast(double bound, String what, Function<CellResult, Series> figure) {
        return new Target("at least " + exactly(bound) + " " + what, true, bound, figure);
    }

    static Target atMost(double bound, String what, Function<CellResult, Series> figure) {
        return new Target("at most " + exactly(bound) + " " + what, false, bound, figure);
    }

    private static String exactly(double bound) {
        return BigDecimal.valueOf(bound).stripTrailingZeros().toPlainString();
    }

    public boolean isReached(CellResult result) {
        double median = figure.apply(result).median();
        return atLeast ? median >= bound : median <= bound;
    }

    public String verdict(CellResult result) {
        return claim + ": " + figure.apply(result) + ", " + (isReached(result) ? "reached" : "NOT REACHED");
    }
}
