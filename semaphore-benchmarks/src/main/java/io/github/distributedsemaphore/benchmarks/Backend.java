package io.github.distributedsemaphore.benchmarks;

import java.nio.file.Path;

/** What is measured: how to start a server of it, and what that counts. */
interface Backend {
    /** As on the command line. */
    String name();

    /** What {@link ServerUse#commands} counts, in the plural. */
    String workUnit();

    /**
     * Starts a server.
     *
     * @param cell for which cell
     * @param folder where it may store something
     */
    MeasuredServer start(Cell cell, Path folder);
}
