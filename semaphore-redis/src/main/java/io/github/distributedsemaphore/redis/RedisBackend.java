package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.Greeting;
import io.github.distributedsemaphore.redis.net.RedisChannels;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.redis.net.Replies;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** One client's use of a Redis server. */
final class RedisBackend implements SemaphoreBackend {
    private static final Duration WAKE_UP = Duration.ofSeconds(1);

    private final RedisSettings settings;
    private final RedisConnections connections;
    private final RedisChannels channels;
    private final RedisAdmin admin;

    RedisBackend(RedisSettings settings) {
        this.settings = settings;
        this.connections = new RedisConnections(settings.servers(), true);
        this.channels = new RedisChannels(connections);
        this.admin = new RedisAdmin(connections, settings);
    }

    @Override
    public Guarantees guarantees() {
        Optional<Greeting.Server> contacted = connections.contacted();
        GuaranteesBuilder builder = promises();
        if (contacted.isPresent() && contacted.get().durable()) {
            builder.capabilities(Capability.DURABLE_STATE);
        }
        return builder.notes(notes(contacted).toArray(String[]::new)).build();
    }

    /** What holds of any server. */
    private GuaranteesBuilder promises() {
        Duration notice = settings.renewEvery().multipliedBy(2).plus(settings.renewal());
        return GuaranteesBuilder.of("redis")
                .capabilities(
                        Capability.CROSS_PROCESS,
                        Capability.CRASH_RELEASE,
                        Capability.LEASE,
                        Capability.FENCING,
                        Capability.DURABLE_FENCING,
                        Capability.LISTING,
                        Capability.ATOMIC_ADMINISTRATION,
                        Capability.ARRIVAL_ORDER)
                .detection(settings.lease().minus(settings.renewEvery().multipliedBy(2)), settings.detection())
                .lossNoticeBound(notice)
                .wakeUpBound(WAKE_UP)
                .callBound(settings.timeout().multipliedBy(3))
                .exposure(Fault.CLIENT_CRASH, Duration.ZERO)
                .exposure(Fault.CLIENT_PAUSE, Duration.ZERO)
                .exposure(Fault.LINK_CUT, Duration.ZERO)
                .exposure(Fault.BACKEND_RESTART, Duration.ZERO)
                .exposure(
                        Fault.FAIL_OVER,
                        mayOutlastItsReplacement() ? Exposure.UNBOUNDED : Exposure.atMost(settings.lease()))
                .exposure(Fault.STATE_REMOVED, settings.lease())
                .sizes(RedisLayout.MAX_NAME_BYTES, Control.MAX_LIMIT);
    }

    private List<String> notes(Optional<Greeting.Server> contacted) {
        List<String> notes = new ArrayList<>(contacted
                .map(Greeting.Server::notes)
                .orElse(List.of(
                        "No server was connected to yet: whether it logs every change, and DURABLE_STATE with it,"
                                + " is known after the first call, such as ping.")));
        notes.add(
                "A replica that is promoted may lack the last grants: for at most a lease a slot may have two holders.");
        if (mayOutlastItsReplacement()) {
            notes.add(
                    "A primary that the sentinels replace because of a partition goes on granting to clients on its side"
                            + " until the partition ends: with three servers set minReplicas=1, with five 2.");
        }
        notes.add("Leases are by the server's clock: if that is set forwards, holders lose permits early by as much.");
        return notes;
    }

    /**
     * Tells whether a primary that sentinels replaced can go on serving clients on its side of a partition. Where grants and
     * renewals need a replica they fail there. The nodes of a cluster stop by themselves in a minority.
     */
    private boolean mayOutlastItsReplacement() {
        return !settings.servers().address().master().isEmpty() && settings.minReplicas() == 0;
    }

    @Override
    public void ping() {
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.PING);
        String what = "Redis at " + connections.endpoint();
        Replies unused = connections.ask(what, RedisLayout.names(settings.prefix()), batch, connections.callDeadline());
    }

    @Override
    public BackendSession open(String name, SessionListener listener) {
        return new RedisSession(new RedisLayout(settings.prefix(), name), connections, channels, settings, listener);
    }

    @Override
    public BackendAdmin admin() {
        return admin;
    }

    @Override
    public void close() {
        channels.close();
        connections.close();
    }
}
