package io.github.distributedsemaphore.benchmarks.run;

import io.github.distributedsemaphore.benchmarks.cells.Variant;
import org.jspecify.annotations.Nullable;

/**
 * What the runner tells a worker process, a line of JSON each.
 *
 * @param kind what to do
 * @param process the number of the worker
 * @param variant what is measured
 * @param uri the server
 * @param watchFile the counters that all processes share
 * @param millis how long the round is
 */
record Order(
        Kind kind,
        int process,
        @Nullable Variant variant,
        @Nullable String uri,
        @Nullable String watchFile,
        long millis) {
    enum Kind {
        /** Connect, for all rounds to come. */
        OPEN,
        /** Stand at the barrier. */
        PREPARE,
        /** Begin. */
        GO,
        /** Disconnect. */
        CLOSE
    }

    static Order open(int process, Variant variant, String uri, String watchFile) {
        return new Order(Kind.OPEN, process, variant, uri, watchFile, 0);
    }

    static Order prepare(int process, Variant variant) {
        return new Order(Kind.PREPARE, process, variant, null, null, 0);
    }

    static Order go(int process, long millis) {
        return new Order(Kind.GO, process, null, null, null, millis);
    }

    static Order close(int process) {
        return new Order(Kind.CLOSE, process, null, null, null, 0);
    }
}
