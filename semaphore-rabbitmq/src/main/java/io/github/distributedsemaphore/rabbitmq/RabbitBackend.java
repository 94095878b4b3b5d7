package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection;
import io.github.distributedsemaphore.rabbitmq.net.QueueSight;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.rabbitmq.net.RabbitSettings;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;

/** One client's use of a broker. */
final class RabbitBackend implements SemaphoreBackend {
    /** An exchange may have to wait for another one, and what became of it may have to be found out: see the port. */
    private static final int CALLS = 3;

    /** What a call may need beyond its time-out: a moment for counting holders, and for a machine that is busy. */
    private static final Duration MARGIN = Duration.ofSeconds(1);

    private static final Duration WAKE_UP = Duration.ofSeconds(3);

    private final RabbitSettings settings;
    private final RabbitConnections connections;
    private final ProbeConnection probes;
    private final QueueSight sight;
    private final Mailbox mailbox;
    private final RabbitAdmin admin;

    RabbitBackend(RabbitSettings settings) {
        this.settings = settings;
        this.connections = new RabbitConnections(settings);
        this.probes = new ProbeConnection(connections);
        this.sight = new QueueSight(connections, probes);
        this.mailbox = new Mailbox(connections, probes);
        this.admin = new RabbitAdmin(connections, sight, mailbox);
    }

    RabbitConnections connections() {
        return connections;
    }

    ProbeConnection probes() {
        return probes;
    }

    QueueSight sight() {
        return sight;
    }

    Mailbox mailbox() {
        return mailbox;
    }

    Duration heartbeat() {
        return Duration.ofSeconds(settings.heartbeat());
    }

    /** How long a hold is sure after the broker confirmed it. */
    static Duration validity(Duration heartbeat) {
        return heartbeat.multipliedBy(19).dividedBy(10);
    }

    static Duration renewEvery(Duration heartbeat) {
        return heartbeat.dividedBy(2);
    }

    @Override
    public Guarantees guarantees() {
        Duration lossNotice = renewEvery(heartbeat()).plus(settings.timeout());
        return GuaranteesBuilder.of("rabbitmq")
                .capabilities(
                        Capability.CROSS_PROCESS,
                        Capability.CRASH_RELEASE,
                        Capability.LEASE,
                        Capability.FENCING,
                        Capability.DURABLE_STATE)
                .detection(Duration.ZERO, settings.detection())
                .lossNoticeBound(lossNotice)
                .wakeUpBound(WAKE_UP)
                .callBound(settings.timeout().plus(MARGIN).multipliedBy(CALLS))
                .exposure(Fault.CLIENT_CRASH, Duration.ZERO)
                .exposure(Fault.CLIENT_PAUSE, Duration.ZERO)
                .exposure(Fault.LINK_CUT, validity(heartbeat()))
                .exposure(Fault.BACKEND_RESTART, validity(heartbeat()))
                .exposure(Fault.FAIL_OVER, Exposure.UNBOUNDED)
                .exposure(Fault.STATE_REMOVED, lossNotice)
                .sizes(QueueNames.MAX_NAME_BYTES, QueueNames.MAX_SLOTS)
                .notes(
                        "In a cluster whose metadata is kept in Mnesia a partition or a suspended node can let two"
                                + " holders into one slot, with pause_minority too: use one node, or a cluster with"
                                + " Khepri of version 4.2 or newer.",
                        "A link that stalls exposes nothing; but one that is reset towards the broker only frees the"
                                + " slot at once, and the holder learns of it when its validity ends.",
                        "Epochs start again when a semaphore is destroyed and created again, or its stream is"
                                + " deleted. Under a memory or disk alarm none are drawn, so no permit is granted.",
                        "A policy with 'expires' that matches ^sem: deletes slots and held holds: set none.",
                        "A release wakes waiters by a message; after a crash they find out by asking again, twice a"
                                + " second, or more seldom where 16 others wait: every two to four seconds, and in a crowd of"
                                + " hundreds some ten times a second together.")
                .build();
    }

    @Override
    public BackendSession open(String name, SessionListener listener) {
        return new RabbitSession(this, name, listener);
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
        end(false);
    }

    @Override
    public void abort() {
        end(true);
    }

    private void end(boolean atOnce) {
        mailbox.close();
        probes.end(atOnce);
        connections.close();
    }
}
