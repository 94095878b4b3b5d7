package io.github.distributedsemaphore.tck.harness;

import io.github.distributedsemaphore.SemaphoreClient;
import java.net.InetSocketAddress;

/**
 * A server that clients can be led to by another address than its own, so that something can stand between them (level 2).
 * Thread-safe.
 */
public interface ServerAccess {
    /**
     * Returns where the server listens.
     *
     * @return its address now
     */
    InetSocketAddress address();

    /**
     * Connects a client to this server, which it finds at another address.
     *
     * @param spec what it is to be like
     * @param through where the client connects to instead of {@link #address}
     * @return the client; the kit closes it
     */
    SemaphoreClient connect(ClientSpec spec, InetSocketAddress through);
}
