package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.link.TcpProxy;

/** A way to a server on which the kit can disturb what passes. Thread-safe. */
public final class Route {
    private final TckFixture tck;
    private final ServerAccess access;
    private final TcpProxy proxy;

    Route(TckFixture tck, ServerAccess access, TcpProxy proxy) {
        this.tck = tck;
        this.access = access;
        this.proxy = proxy;
    }

    /**
     * Returns what stands between clients and server.
     *
     * @return the proxy, closed after the test
     */
    public TcpProxy proxy() {
        return proxy;
    }

    /**
     * Connects a client.
     *
     * @return a new one, closed after the test
     */
    public SemaphoreClient client() {
        return client(ClientSpec.plain());
    }

    /**
     * Connects a client.
     *
     * @param spec what it is to be like
     * @return a new one, closed after the test
     */
    public SemaphoreClient client(ClientSpec spec) {
        return tck.own(access.connect(spec, proxy.address()));
    }
}
