package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.memory.Link;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.ServerAccess;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The backend in memory, reached over real connections where a rule wants to disturb them. */
public class LinkedMemoryHarness extends MemoryHarness {
    /** A server in memory keeps its state when only its port is closed. */
    public static final Set<Capability> ALL = Stream.concat(
                    MemoryServer.ALL.stream(), Stream.of(Capability.DURABLE_STATE))
            .collect(Collectors.toUnmodifiableSet());

    private final TcpMemoryServer listener = new TcpMemoryServer();

    public LinkedMemoryHarness(Set<Capability> capabilities) {
        super(capabilities);
    }

    public LinkedMemoryHarness(ProbedServer server) {
        super(server);
    }

    /** Makes the client's end of a connection. */
    protected TcpLink link(InetSocketAddress through) {
        return new TcpLink(through);
    }

    /** Makes a server that nobody else uses. */
    protected ProbedServer newServer() {
        return new ProbedServer(server().lease(), server().capabilities());
    }

    @Override
    public SemaphoreClient connect(ClientSpec spec) {
        return connect(spec, self -> new LinkedMemoryBackend(server(), self, Link.DIRECT));
    }

    private SemaphoreClient connect(ProbedServer to, ClientSpec spec, InetSocketAddress through) {
        return connect(spec, self -> new LinkedMemoryBackend(to, self, link(through)));
    }

    @Override
    public Optional<ServerAccess> link() {
        return Optional.of(new ServerAccess() {
            @Override
            public InetSocketAddress address() {
                return listener.address();
            }

            @Override
            public SemaphoreClient connect(ClientSpec spec, InetSocketAddress through) {
                return LinkedMemoryHarness.this.connect(server(), spec, through);
            }
        });
    }

    @Override
    public Optional<ServerControl> startServer() {
        return Optional.of(new MemoryControl(newServer(), this::connect));
    }

    @Override
    public void close() {
        super.close();
        listener.close();
    }
}
