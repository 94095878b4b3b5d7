package io.github.distributedsemaphore.benchmarks.servers;

import io.github.distributedsemaphore.benchmarks.cells.ServerUse;

/** A server of our own under measurement, on free ports of the loopback address. */
public interface MeasuredServer extends AutoCloseable {
    /** How a client reaches it. */
    String uri();

    /** What it has done so far. */
    ServerUse use();

    /** The product and its version. */
    String version();

    @Override
    void close();
}
