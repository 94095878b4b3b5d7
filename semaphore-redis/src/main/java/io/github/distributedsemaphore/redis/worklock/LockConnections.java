package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.SemaphoreClosedException;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.resource.ClientResources;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes connections, one for each look at a lock. A connection that only one thread ever uses, once, cannot have a watch
 * left over from before or a transaction of somebody else; and none reconnects by itself, since Lettuce would send again
 * what was under way without the WATCH and the MULTI before it.
 *
 * <p>Thread-safe.
 */
final class LockConnections implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LockConnections.class);
    private static final int THREADS = 2;

    /** Loading the client library takes its time, once. */
    private static final Duration CONNECT = Duration.ofSeconds(5);

    private static final Duration SHUTDOWN = Duration.ofSeconds(2);

    private final RedisURI address;
    private final ClientResources resources;
    private final RedisClient client;
    private final CountDownLatch closed = new CountDownLatch(1);

    LockConnections(RedisURI address) {
        this.address = address;
        this.resources = ClientResources.builder()
                .ioThreadPoolSize(THREADS)
                .computationThreadPoolSize(THREADS)
                .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                .build();
        this.client = RedisClient.create(resources);
        client.setOptions(ClientOptions.builder()
                .autoReconnect(false)
                .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
                .protocolVersion(ProtocolVersion.RESP2)
                .socketOptions(SocketOptions.builder().connectTimeout(CONNECT).build())
                // We wait with bounds of our own.
                .timeoutOptions(TimeoutOptions.builder().timeoutCommands(false).build())
                .build());
    }

    /** Opens a connection; the caller closes it. */
    LockConnection open(String key) {
        refuseIfClosed(key);
        String what = "key '" + key + "' at " + endpoint();
        CompletableFuture<StatefulRedisConnection<String, String>> connecting = connecting(key);
        try {
            return new LockConnection(Waits.uninterrupted(connecting, CONNECT), key, what);
        } catch (ExecutionException e) {
            refuseIfClosed(key);
            throw ServerFailures.of(what, e, false);
        } catch (TimeoutException e) {
            // It may still come about, and then nobody wants it.
            Future<?> unused = connecting.thenCompose(StatefulRedisConnection::closeAsync);
            throw ServerFailures.of(what, e, false);
        }
    }

    private CompletableFuture<StatefulRedisConnection<String, String>> connecting(String key) {
        try {
            return client.connectAsync(StringCodec.UTF8, address).toCompletableFuture();
        } catch (RuntimeException e) {
            // Lettuce says in several ways that it has been shut down.
            refuseIfClosed(key);
            throw e;
        }
    }

    private void refuseIfClosed(String key) {
        if (isClosed()) {
            throw closed(key);
        }
    }

    static SemaphoreClosedException closed(String key) {
        return new SemaphoreClosedException("key '" + key + "': the work lock was closed");
    }

    /** For messages: no credentials. */
    String endpoint() {
        return address.getHost() + ":" + address.getPort();
    }

    boolean isClosed() {
        return closed.getCount() == 0;
    }

    /** Comes down when this is closed. */
    CountDownLatch end() {
        return closed;
    }

    @Override
    public void close() {
        closed.countDown();
        try {
            Waits.uninterrupted(client.shutdownAsync(0, SHUTDOWN.toMillis(), TimeUnit.MILLISECONDS), SHUTDOWN);
            Waits.uninterrupted(resources.shutdown(0, SHUTDOWN.toMillis(), TimeUnit.MILLISECONDS), SHUTDOWN);
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("Connections were not closed in order", e);
        }
    }
}
