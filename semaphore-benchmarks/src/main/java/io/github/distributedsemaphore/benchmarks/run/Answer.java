package io.github.distributedsemaphore.benchmarks.run;

import io.github.distributedsemaphore.benchmarks.cells.RoundReport;
import org.jspecify.annotations.Nullable;

/**
 * What a worker process tells the runner, a line of JSON for each order.
 *
 * @param failure why it could not; null if it could
 * @param report what it did in a round
 */
record Answer(@Nullable String failure, @Nullable RoundReport report) {
    static final Answer DONE = new Answer(null, null);

    static Answer failed(Throwable failure) {
        return new Answer(failure.toString(), null);
    }
}
