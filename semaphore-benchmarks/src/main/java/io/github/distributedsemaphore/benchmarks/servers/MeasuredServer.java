package io.github.distributedsemaphore.benchmarks.servers;

import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import io.github.distributedsemaphore.tck.harness.ProcessServer;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** A server of our own under measurement, on free ports of the loopback address. */
public interface MeasuredServer extends AutoCloseable {
    /** How a client reaches it. */
    String uri();

    /** What it has done so far. */
    ServerUse use();

    /** The product and its version. */
    String version();

    /** Ends it in order and starts it again, with what it has stored; returns when it answers. */
    void restart();

    @Override
    void close();

    /** Starts its process, which ends with this JVM. A message says how to install what is missing. */
    static void start(ProcessServer process, List<String> command, BooleanSupplier serves, String install) {
        try {
            process.start(command, serves);
        } catch (UncheckedIOException e) {
            throw new BrokenRunException("no " + command.get(0) + "; install it (" + install + ")", e);
        } catch (IllegalStateException e) {
            throw new BrokenRunException(String.valueOf(e.getMessage()), e);
        }
    }

    /** The processor time of a server and of all its processes that are there, in microseconds. */
    static double processorMicros(ProcessServer process) {
        return Stream.concat(
                                Stream.of(process.process().toHandle()),
                                process.process().descendants())
                        .mapToLong(one -> one.info()
                                .totalCpuDuration()
                                .orElse(Duration.ZERO)
                                .toNanos())
                        .sum()
                / 1e3;
    }
}
