package io.github.distributedsemaphore.benchmarks.cells;

import java.time.Duration;
import java.util.List;

/**
 * How long and how often is measured.
 *
 * @param rounds how many rounds count
 * @param shortestWarmUp how long each variant works before them for each of its JVMs, at least; once in any case
 * @param longestWarmUp how long a variant that is slow may go on with that
 * @param shortenedBy by which factor rounds are shorter than the cell says
 * @param workerMain the class that a worker starts with
 * @param workerOptions options for the JVMs of the workers
 */
public record RunSettings(
        int rounds,
        Duration shortestWarmUp,
        Duration longestWarmUp,
        int shortenedBy,
        Class<?> workerMain,
        List<String> workerOptions) {
    /** After so many acquires and releases the compiler has done most of what it does. */
    private static final long WARM_PAIRS = 5_000;

    /** Whether a variant needs another warm-up after so many, in which it has made so many pairs of its own. */
    public boolean isCold(Cell cell, int warmUpsDone, long pairs) {
        long millis = warmUpsDone * cell.roundMillis();
        // JVMs share the processors, and each has a compiler of its own that has to come to its end.
        long shortest = shortestWarmUp.toMillis() * cell.processes();
        return millis < shortest || (pairs < WARM_PAIRS && millis < longestWarmUp.toMillis());
    }

    public long roundMillis(Cell cell) {
        return Math.max(50, cell.roundMillis() / shortenedBy);
    }
}
