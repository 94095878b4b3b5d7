package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisClient;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections of one client. Each session has one of its own for its watch; one is shared by everything that sends no
 * transaction; one is for administration; and one listens to channels. None reconnects by itself: Lettuce would send again
 * what was under way, without the WATCH and without the MULTI that it was meant to have.
 *
 * <p>Thread-safe.
 */
final class RedisConnections implements AutoCloseable {
    private static final int MOST_ATTEMPTS = 4;

    private static final Logger LOG = LoggerFactory.getLogger(RedisConnections.class);
    private static final int THREADS = 2;
    private static final long SHUTDOWN_MILLIS = 2_000;

    private final RedisSettings settings;
    private final ClientResources resources;
    private final RedisClient client;
    private final ServerClock clock = new ServerClock();
    private final ReentrantLock sharedLock = new ReentrantLock();
    private final Map<RedisWire, CompletableFuture<Void>> ending = new ConcurrentHashMap<>();
    private volatile @Nullable RedisWire shared;

    RedisConnections(RedisSettings settings) {
        this.settings = settings;
        this.resources = ClientResources.builder()
                .ioThreadPoolSize(THREADS)
                .computationThreadPoolSize(THREADS)
                .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                .build();
        this.client = RedisClient.create(resources, settings.address());
        client.setOptions(ClientOptions.builder()
                .autoReconnect(false)
                .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
                // The replies of the newer protocol differ in shape, and it has nothing that we need.
                .protocolVersion(ProtocolVersion.RESP2)
                .socketOptions(SocketOptions.builder()
                        .connectTimeout(settings.call())
                        .keepAlive(true)
                        .build())
                // We wait with bounds of our own: a timer for each command would cost more than the command.
                .timeoutOptions(TimeoutOptions.builder().timeoutCommands(false).build())
                .build());
    }

    ServerClock clock() {
        return clock;
    }

    String endpoint() {
        return settings.endpoint();
    }

    /** By when a call that starts now has to be over. */
    Deadline callDeadline() {
        return Deadline.after(System.nanoTime(), settings.call());
    }

    /**
     * Opens a connection. When the server refuses the handshake, the end of the connection may overtake the reason; another
     * attempt tells it.
     */
    RedisWire open(Deadline deadline) {
        for (int attempt = 1; attempt < MOST_ATTEMPTS; attempt++) {
            try {
                return connect(deadline);
            } catch (BackendUnavailableException e) {
                if (!RedisFailures.isCutInHandshake(e) || deadline.isPast(System.nanoTime())) {
                    throw e;
                }
            }
        }
        return connect(deadline);
    }

    private RedisWire connect(Deadline deadline) {
        CompletableFuture<StatefulRedisConnection<String, String>> connecting =
                client.connectAsync(StringCodec.UTF8, settings.address()).toCompletableFuture();
        try {
            return new RedisWire(Awaiting.future(connecting, deadline), settings.endpoint(), this::ending);
        } catch (ExecutionException e) {
            throw RedisFailures.connecting(settings.endpoint(), e);
        } catch (TimeoutException e) {
            // It may still come about, and then nobody wants it.
            Future<?> unused = connecting.thenCompose(StatefulRedisConnection::closeAsync);
            throw new BackendUnavailableException(
                    "Redis at " + settings.endpoint() + " did not let us connect in time", e);
        }
    }

    private void ending(RedisWire wire, CompletableFuture<Void> end) {
        ending.put(wire, end);
        Future<?> unused = end.whenComplete((done, failure) -> ending.remove(wire));
    }

    /** Opens a connection for channels, without waiting for it. */
    CompletableFuture<StatefulRedisPubSubConnection<String, String>> openPubSub() {
        return client.connectPubSubAsync(StringCodec.UTF8, settings.address()).toCompletableFuture();
    }

    /** Runs a task later, on a thread that may not be blocked. */
    void later(Runnable task, long millis) {
        ScheduledExecutorService timer = resources.eventExecutorGroup();
        try {
            Future<?> unused = timer.schedule(task, millis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("Closed meanwhile", e);
        }
    }

    /** Connects for the first time. */
    ServerCheck check(Deadline deadline) {
        return ServerCheck.of(shared(deadline), endpoint(), deadline);
    }

    /** Asks on the shared connection; no transactions. */
    Replies ask(CommandBatch batch, Deadline deadline) {
        return shared(deadline).ask(batch, deadline);
    }

    private RedisWire shared(Deadline deadline) {
        RedisWire wire = shared;
        if (wire != null && wire.isOpen()) {
            return wire;
        }
        if (!Awaiting.lock(sharedLock, deadline)) {
            throw new WireException("the connection to " + endpoint() + " is being made", null, false);
        }
        try {
            wire = shared;
            if (wire == null || !wire.isOpen()) {
                wire = open(deadline);
                shared = wire;
            }
            return wire;
        } finally {
            sharedLock.unlock();
        }
    }

    @Override
    public void close() {
        Deadline deadline = Deadline.after(System.nanoTime(), Duration.ofMillis(2 * SHUTDOWN_MILLIS));
        try {
            // Lettuce complains of connections that are about to be closed when it shuts down.
            Awaiting.future(CompletableFuture.allOf(ending.values().toArray(CompletableFuture<?>[]::new)), deadline);
            Awaiting.future(client.shutdownAsync(0, SHUTDOWN_MILLIS, TimeUnit.MILLISECONDS), deadline);
            Awaiting.future(resources.shutdown(0, SHUTDOWN_MILLIS, TimeUnit.MILLISECONDS), deadline);
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("Connections were not closed in order", e);
        }
    }
}
