package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection on which one client hears of free slots, for all its semaphores. When it breaks it is opened again as long
 * as a session listens. Messages of that time are lost, so each session then gets a hint that something may have happened.
 *
 * <p>Thread-safe.
 */
public final class RedisChannels implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RedisChannels.class);

    private static final long RECONNECT_MILLIS = 200;

    private final RedisConnections connections;
    private final Map<String, List<Consumer<String>>> listeners = new ConcurrentHashMap<>();
    private final ReentrantLock lock = new ReentrantLock();
    private @Nullable CompletableFuture<StatefulRedisPubSubConnection<String, String>> connecting;
    private volatile boolean closed;

    public RedisChannels(RedisConnections connections) {
        this.connections = connections;
    }

    /**
     * Listens to a channel, and returns when the server knows.
     *
     * @param listener gets each message, and an empty one when messages may have been lost; returns at once
     */
    public void listen(String channel, Consumer<String> listener, Deadline deadline) {
        listeners.compute(channel, (key, known) -> {
            List<Consumer<String>> all = known == null ? new CopyOnWriteArrayList<>() : known;
            all.add(listener);
            return all;
        });
        try {
            StatefulRedisPubSubConnection<String, String> connection = InterruptShield.await(connection(), deadline);
            subscribed(connection, channel, deadline);
        } catch (ExecutionException e) {
            forget(channel, listener);
            throw RedisFailures.connecting(connections.endpoint(), e);
        } catch (TimeoutException e) {
            forget(channel, listener);
            throw new BackendUnavailableException(
                    "Redis at " + connections.endpoint() + " did not let us listen in time", e);
        }
    }

    private void subscribed(StatefulRedisPubSubConnection<String, String> connection, String channel, Deadline deadline)
            throws ExecutionException, TimeoutException {
        try {
            InterruptShield.await(subscribe(connection, List.of(channel)).toCompletableFuture(), deadline);
        } catch (TimeoutException e) {
            // It may never answer again and not break either. Its end has the others listen on the next one.
            giveUp(connection);
            Future<?> unused = connection.closeAsync();
            throw e;
        }
    }

    /** Ends it, without waiting. */
    public void forget(String channel, Consumer<String> listener) {
        List<Consumer<String>> left = listeners.computeIfPresent(channel, (key, all) -> {
            all.remove(listener);
            return all.isEmpty() ? null : all;
        });
        if (left == null) {
            unsubscribe(channel);
        }
    }

    private void unsubscribe(String channel) {
        CompletableFuture<StatefulRedisPubSubConnection<String, String>> known;
        lock.lock();
        try {
            known = connecting;
        } finally {
            lock.unlock();
        }
        if (known != null) {
            Future<?> unused = known.thenAccept(connection -> unsubscribe(connection, channel));
        }
    }

    /** Under the lock, so that it cannot overtake one who listens to the channel since the last one ceased to. */
    private void unsubscribe(StatefulRedisPubSubConnection<String, String> connection, String channel) {
        lock.lock();
        try {
            if (connection.isOpen() && !listeners.containsKey(channel)) {
                Future<?> unused = connection.async().unsubscribe(channel).toCompletableFuture();
            }
        } finally {
            lock.unlock();
        }
    }

    private RedisFuture<Void> subscribe(
            StatefulRedisPubSubConnection<String, String> connection, Collection<String> channels) {
        lock.lock();
        try {
            return connection.async().subscribe(channels.toArray(String[]::new));
        } finally {
            lock.unlock();
        }
    }

    private CompletableFuture<StatefulRedisPubSubConnection<String, String>> connection() {
        lock.lock();
        try {
            CompletableFuture<StatefulRedisPubSubConnection<String, String>> known = connecting;
            if (known == null || known.isCompletedExceptionally()) {
                known = connections.openPubSub().thenApply(this::prepare);
                connecting = known;
            }
            return known;
        } finally {
            lock.unlock();
        }
    }

    private StatefulRedisPubSubConnection<String, String> prepare(
            StatefulRedisPubSubConnection<String, String> connection) {
        connection.addListener(new RedisPubSubAdapter<String, String>() {
            @Override
            public void message(String channel, String message) {
                tell(channel, message);
            }
        });
        connection.addListener(new RedisConnectionStateListener() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> broken) {
                giveUp(connection);
                tellAll();
                reconnectLater();
            }
        });
        return connection;
    }

    private void tell(String channel, String message) {
        listeners.getOrDefault(channel, List.of()).forEach(listener -> listener.accept(message));
    }

    /** The next one may be there already. */
    private void giveUp(StatefulRedisPubSubConnection<String, String> connection) {
        lock.lock();
        try {
            CompletableFuture<StatefulRedisPubSubConnection<String, String>> known = connecting;
            if (known != null && !known.isCompletedExceptionally() && connection.equals(known.getNow(null))) {
                connecting = null;
            }
        } finally {
            lock.unlock();
        }
    }

    /** Messages may have been lost. */
    private void tellAll() {
        listeners.values().forEach(all -> all.forEach(listener -> listener.accept("")));
    }

    private void reconnectLater() {
        if (!closed && !listeners.isEmpty()) {
            connections.later(this::reconnect, RECONNECT_MILLIS);
        }
    }

    private void reconnect() {
        if (closed || listeners.isEmpty()) {
            return;
        }
        Future<?> unused = connection()
                .thenCompose(connection -> subscribe(connection, listeners.keySet()))
                .whenComplete((done, failure) -> {
                    if (failure == null) {
                        tellAll();
                    } else {
                        LOG.debug("Cannot listen to {} yet", connections.endpoint(), failure);
                        reconnectLater();
                    }
                });
    }

    @Override
    public void close() {
        closed = true;
        listeners.clear();
    }
}
