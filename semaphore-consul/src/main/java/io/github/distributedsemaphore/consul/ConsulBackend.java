package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;

/** One client of a Consul agent. */
final class ConsulBackend implements SemaphoreBackend {
    static final int MAX_PERMITS = 1_000;

    /** A slot changes its client by two commits and the answers to the watches of all that wait: 5 to 15 ms on three servers. */
    private static final Duration HAND_OFF_TIME = Duration.ofMillis(25);

    /** A query that is kept waiting, and some time for an agent that is slow. */
    static final Duration WATCH_ANSWER = Duration.ofSeconds(PrefixFollower.WAIT_SECONDS * 17 / 16 + 8);
    /** Consul serves 200 connections to one address. */
    static final int OPERATION_CONNECTIONS = 8;

    static final int WATCH_CONNECTIONS = 100;

    private final ConsulSettings settings;
    private final ConsulHttp operations;
    private final ConsulHttp watches;
    private final DestroyedLocks destroyed;
    private final ConsulAdmin admin;

    ConsulBackend(ConsulSettings settings) {
        this.settings = settings;
        this.operations = settings.http(settings.giveUpAfter(), OPERATION_CONNECTIONS);
        this.watches = settings.http(WATCH_ANSWER, WATCH_CONNECTIONS);
        this.destroyed = new DestroyedLocks(operations, watches);
        this.admin = new ConsulAdmin(operations, settings, destroyed);
    }

    @Override
    public Guarantees guarantees() {
        Duration lossNotice = settings.renewEvery().plusSeconds(1);
        // Whatever ends the agent's node in the catalog ends its sessions; a node that is no agent does not go.
        Duration endOfNode = settings.node().isEmpty() ? settings.ttl() : Duration.ZERO;
        return GuaranteesBuilder.of("consul")
                .capabilities(
                        Capability.CROSS_PROCESS,
                        Capability.CRASH_RELEASE,
                        Capability.LEASE,
                        Capability.FENCING,
                        Capability.DURABLE_FENCING,
                        Capability.DURABLE_STATE,
                        Capability.LISTING,
                        Capability.ATOMIC_ADMINISTRATION,
                        Capability.ARRIVAL_ORDER)
                .detection(settings.ttl(), settings.detection())
                .lossNoticeBound(lossNotice)
                .wakeUpBound(Duration.ofSeconds(1))
                .callBound(settings.timeout().multipliedBy(3))
                .exposure(Fault.CLIENT_CRASH, Duration.ZERO)
                .exposure(Fault.CLIENT_PAUSE, Duration.ZERO)
                .exposure(Fault.LINK_CUT, Duration.ZERO)
                .exposure(Fault.BACKEND_RESTART, endOfNode)
                .exposure(Fault.FAIL_OVER, endOfNode)
                .exposure(Fault.STATE_REMOVED, lossNotice)
                .sizes(KeyNames.MAX_BYTES, MAX_PERMITS)
                .notes(notes())
                .build();
    }

    private static String[] notes() {
        return new String[] {
            "A holder of the official client (consul lock -n) takes one place without a number: it is shown as slot 0, the"
                    + " slots of our clients stay different from each other, and it has no epoch.",
            "A semaphore of one slot cannot be shared with consul lock, which uses another algorithm for n = 1.",
            "Sessions belong to a node of Consul's catalog, by default that of the agent, and end with it: at once when a"
                    + " client agent is stopped in order, some seconds after the death of a server agent in a cluster, and"
                    + " when a cluster starts again without it. Holders may then work on for a time to live at most. The"
                    + " setting 'node' names another node.",
            "A change of leader or a restart of the servers starts the time to live of every session again, which adds to"
                    + " the detection bound.",
            "An agent in development mode keeps nothing over a restart, nor does a cluster that is set up again: limits are"
                    + " gone then, and epochs begin again.",
        };
    }

    @Override
    public Duration handOffTime() {
        return HAND_OFF_TIME;
    }

    @Override
    public BackendSession open(String name, SessionListener listener) {
        return new ConsulSession(operations, watches, settings, name, listener);
    }

    @Override
    public void ping() {
        admin.ping();
    }

    @Override
    public BackendAdmin admin() {
        return admin;
    }

    @Override
    public void close() {
        destroyed.close();
        watches.close();
        operations.close();
    }
}
