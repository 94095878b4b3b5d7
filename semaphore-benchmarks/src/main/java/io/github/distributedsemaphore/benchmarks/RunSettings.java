package io.github.distributedsemaphore.benchmarks;

import java.util.List;

/**
 * How long and how often is measured.
 *
 * @param rounds how many rounds count
 * @param warmUps how many come before them
 * @param shortenedBy by which factor rounds are shorter than the cell says
 * @param workerMain the class that a worker starts with
 * @param workerOptions options for the JVMs of the workers
 */
record RunSettings(int rounds, int warmUps, int shortenedBy, Class<?> workerMain, List<String> workerOptions) {
    long roundMillis(Cell cell) {
        return Math.max(50, cell.roundMillis() / shortenedBy);
    }
}
