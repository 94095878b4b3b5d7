package io.github.distributedsemaphore.memory;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One client of a {@link MemoryServer}. */
public class MemoryBackend implements SemaphoreBackend {
    /** Carries a request and its answer in no time. */
    protected static final Executor AT_ONCE = Runnable::run;

    static final Duration OPERATION = Duration.ofMillis(500);

    protected final MemoryServer server;
    private final HolderInfo self;
    private final Link link;
    private final BackendAdmin admin = new MemoryAdmin(this);

    /**
     * Connects without network faults.
     *
     * @param server the server
     * @param self describes this client
     */
    public MemoryBackend(MemoryServer server, HolderInfo self) {
        this(server, self, Link.DIRECT);
    }

    /**
     * Connects.
     *
     * @param server the server
     * @param self describes this client
     * @param link carries every call
     */
    public MemoryBackend(MemoryServer server, HolderInfo self, Link link) {
        this.server = server;
        this.self = self;
        this.link = link;
    }

    @Override
    public Guarantees guarantees() {
        GuaranteesBuilder guarantees = GuaranteesBuilder.of("memory")
                .capabilities(server.capabilities().toArray(Capability[]::new))
                .lossNoticeBound(renewEvery().plusSeconds(1))
                .wakeUpBound(OPERATION)
                .callBound(OPERATION)
                .exposure(Fault.CLIENT_CRASH, Duration.ZERO)
                .exposure(Fault.CLIENT_PAUSE, Duration.ZERO)
                .exposure(Fault.LINK_CUT, Duration.ZERO)
                .exposure(Fault.STATE_REMOVED, renewEvery().plusSeconds(1))
                // As the backend that takes most: what an application may do on a real one it may do in a test.
                .sizes(1_000, 100_000);
        if (server.capabilities().contains(Capability.LEASE)) {
            guarantees.detection(server.lease().dividedBy(2), server.lease().plus(OPERATION));
        } else if (server.capabilities().contains(Capability.CRASH_RELEASE)) {
            guarantees.detection(Duration.ZERO, Duration.ofSeconds(1));
        }
        return guarantees.build();
    }

    @Override
    public BackendSession open(String name, SessionListener listener) {
        return new MemorySession(this, server.open(this, name, self, listener));
    }

    @Override
    public BackendAdmin admin() {
        return admin;
    }

    @Override
    public void close() {}

    /**
     * Returns how its sessions start exchanges without waiting.
     *
     * @return carries a request and its answer; null if they cannot
     */
    protected @Nullable Executor network() {
        return link == Link.DIRECT ? AT_ONCE : null;
    }

    final MemoryServer server() {
        return server;
    }

    final Duration renewEvery() {
        return server.lease().dividedBy(3);
    }

    final <T> T call(String what, Supplier<T> onServer) {
        return link.call(what, () -> {
            server.requireNotCrashed(this);
            return onServer.get();
        });
    }
}
