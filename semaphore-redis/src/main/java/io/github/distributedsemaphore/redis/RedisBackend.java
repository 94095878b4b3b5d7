package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Capability;
import io.github.distributedsemaphore.Fault;
import io.github.distributedsemaphore.Guarantees;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** One client's use of a Redis server. */
final class RedisBackend implements SemaphoreBackend {
    private static final Duration WAKE_UP = Duration.ofSeconds(1);

    private final RedisSettings settings;
    private final RedisConnections connections;
    private final RedisChannels channels;
    private final ExclusiveWire transactions;
    private final RedisAdmin admin;
    private final Guarantees guarantees;
    private final AtomicBoolean closed = new AtomicBoolean();

    RedisBackend(RedisSettings settings, RedisConnections connections, ServerCheck server) {
        this.settings = settings;
        this.connections = connections;
        this.channels = new RedisChannels(connections);
        this.transactions = new ExclusiveWire(connections);
        this.admin = new RedisAdmin(transactions, settings.prefix());
        this.guarantees = guarantees(settings, server);
    }

    private static Guarantees guarantees(RedisSettings settings, ServerCheck server) {
        Duration notice = settings.renewEvery().multipliedBy(2).plus(settings.renewal());
        Guarantees.Builder builder = Guarantees.of("redis")
                .capabilities(
                        Capability.CROSS_PROCESS,
                        Capability.CRASH_RELEASE,
                        Capability.LEASE,
                        Capability.FENCING,
                        Capability.DURABLE_FENCING,
                        Capability.LISTING)
                .detection(settings.lease().minus(settings.renewEvery().multipliedBy(2)), settings.detection())
                .lossNotice(notice)
                .wakeUp(WAKE_UP)
                .operation(settings.call().multipliedBy(3))
                .exposure(Fault.CLIENT_CRASH, Duration.ZERO)
                .exposure(Fault.CLIENT_PAUSE, Duration.ZERO)
                .exposure(Fault.LINK_CUT, Duration.ZERO)
                .exposure(Fault.BACKEND_RESTART, Duration.ZERO)
                .exposure(Fault.FAIL_OVER, settings.lease())
                .exposure(Fault.STATE_REMOVED, settings.lease())
                .sizes(RedisLayout.MAX_NAME_BYTES, Control.MAX_LIMIT);
        if (server.isDurable()) {
            builder.capabilities(Capability.DURABLE_STATE);
        }
        List<String> notes = server.notes();
        return builder.notes(notes.toArray(String[]::new)).build();
    }

    @Override
    public Guarantees guarantees() {
        return guarantees;
    }

    @Override
    public BackendSession open(String name, SessionListener listener) {
        return new RedisSession(
                new RedisLayout(settings.prefix(), name), connections, transactions, channels, settings, listener);
    }

    @Override
    public BackendAdmin admin() {
        return admin;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            channels.close();
            connections.close();
        }
    }
}
