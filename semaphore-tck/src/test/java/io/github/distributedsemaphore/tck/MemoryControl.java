package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.memory.MemorySemaphore;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Stops and starts a server in memory: its port is closed, and its state stays or goes. */
final class MemoryControl implements ServerControl {
    private final ProbedServer server;
    private final Connector connector;
    private TcpMemoryServer listener = new TcpMemoryServer();
    private int starts = 1;

    MemoryControl(ProbedServer server, Connector connector) {
        this.server = server;
        this.connector = connector;
    }

    /** Connects clients. */
    @FunctionalInterface
    interface Connector {
        SemaphoreClient connect(ProbedServer to, ClientSpec spec, InetSocketAddress through);
    }

    @Override
    public synchronized InetSocketAddress address() {
        return listener.address();
    }

    @Override
    public SemaphoreClient connect(ClientSpec spec, InetSocketAddress through) {
        return connector.connect(server, spec, through);
    }

    @Override
    public synchronized boolean isRunning() {
        return listener.isRunning();
    }

    @Override
    public synchronized void start() {
        server.restarted();
        listener.start();
        starts++;
    }

    @Override
    public synchronized void stop() {
        listener.close();
    }

    @Override
    public synchronized void kill() {
        listener.close();
    }

    @Override
    public void wipe() {
        server.wipeAll();
    }

    @Override
    public synchronized String incarnation() {
        return Integer.toString(starts);
    }

    @Override
    public List<String> errors() {
        return List.of("busy");
    }

    @Override
    public void beginErrors(String kind) {
        server.failWith(kind);
    }

    @Override
    public void endErrors(String kind) {
        server.failWith("");
    }

    @Override
    public synchronized void close() {
        listener.close();
    }

    @Override
    public Optional<Replica> replica() {
        return Optional.of(new Replica() {
            private Map<String, List<MemorySemaphore.Taken>> snapshot;

            @Override
            public void awaitCaughtUp() {}

            @Override
            public void detach() {
                snapshot = server.snapshot();
            }

            @Override
            public void promote() {
                takeOver(snapshot);
            }

            @Override
            public void close() {}
        });
    }

    private synchronized void takeOver(Map<String, List<MemorySemaphore.Taken>> snapshot) {
        listener.close();
        if (snapshot == null) {
            server.restarted();
        } else {
            server.restore(snapshot);
        }
        listener = new TcpMemoryServer();
        starts++;
    }
}
