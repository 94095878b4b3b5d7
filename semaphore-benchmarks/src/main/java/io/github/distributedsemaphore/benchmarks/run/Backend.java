package io.github.distributedsemaphore.benchmarks.run;

import io.github.distributedsemaphore.benchmarks.cells.Cell;
import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import io.github.distributedsemaphore.benchmarks.servers.MeasuredServer;
import java.nio.file.Path;

/** What is measured: how to start a server of it, and what that counts. */
public interface Backend {
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
