package io.github.distributedsemaphore.benchmarks.cells;

import java.util.List;

/**
 * How long and how often is measured.
 *
 * @param rounds how many rounds count
 * @param warmUps how many come before them, at least
 * @param mostWarmUps and at most
 * @param shortenedBy by which factor rounds are shorter than the cell says
 * @param workerMain the class that a worker starts with
 * @param workerOptions options for the JVMs of the workers
 */
public record RunSettings(
        int rounds, int warmUps, int mostWarmUps, int shortenedBy, Class<?> workerMain, List<String> workerOptions) {
    /** After so many acquires and releases the compiler has done most of what it does. */
    private static final long WARM_PAIRS = 5_000;

    /** Whether there should be more warm-ups after so many, with so many pairs in all. */
    public boolean isCold(int warmUpsDone, long pairs) {
        return warmUpsDone < mostWarmUps && pairs < WARM_PAIRS;
    }

    public long roundMillis(Cell cell) {
        return Math.max(50, cell.roundMillis() / shortenedBy);
    }
}
