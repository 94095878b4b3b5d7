package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.spi.support.HostAndPort;
import java.util.List;

/** A server that the kit starts, ends and robs of its data; it keeps its address. */
interface KitServer extends AutoCloseable {
    String uri();

    /** Where its replicas find it. */
    HostAndPort forReplicas();

    boolean isRunning();

    /** The processes that it consists of, which can be stopped with a signal; none if they are out of reach. */
    default List<Long> processes() {
        return List.of();
    }

    /** Ends it in order. */
    void stop();

    /** Ends it as a crash would. */
    void kill();

    /** Removes what it has stored, while it does not run. */
    void wipe();

    /** Starts it again; it has its data when this returns. */
    void restart();

    @Override
    void close();
}
