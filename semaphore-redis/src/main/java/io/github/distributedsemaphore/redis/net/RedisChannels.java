package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection on which one client hears of free slots, for all its semaphores. When it breaks it is opened again as long
 * as a session listens. Messages of that time are lost, so each session then gets a hint that something may have happened. Whether
 * it still leads to a server is asked when a session had to connect.
 *
 * <p>Thread-safe.
 */
public final class RedisChannels implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RedisChannels.class);

    private static final long RECONNECT_MILLIS = 200;

    /** A channel to which nobody listens. */
    private static final String NOBODYS = "nobody";

    private final RedisConnections connections;
    private final Opening opening;
    private final Map<String, List<Consumer<String>>> listeners = new ConcurrentHashMap<>();
    private final ReentrantLock lock = new ReentrantLock();
    private @Nullable Connecting connecting;

    /** Whether the server is asked for a sign of life. */
    private final AtomicBoolean probing = new AtomicBoolean();

    private volatile boolean closed;

    /**
     * Attempts to connect, one at most at each server.
     *
     * @param channels those for whose servers there is or was an attempt
     * @param open how many attempts are under way
     * @param first the connection that comes about first
     * @param ready the same when it is prepared; fails when all attempts have failed
     */
    private record Connecting(
            List<String> channels,
            AtomicInteger open,
            CompletableFuture<StatefulRedisPubSubConnection<String, String>> first,
            CompletableFuture<StatefulRedisPubSubConnection<String, String>> ready) {}

    /** Opens a connection for channels, without waiting for it. */
    interface Opening {
        CompletableFuture<StatefulRedisPubSubConnection<String, String>> open(String channel);
    }

    public RedisChannels(RedisConnections connections) {
        this(connections, connections::openPubSub);
    }

    RedisChannels(RedisConnections connections, Opening opening) {
        this.connections = connections;
        this.opening = opening;
        connections.afterConnecting(this::probe);
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
            StatefulRedisPubSubConnection<String, String> connection =
                    InterruptShield.await(connection(channel), deadline);
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
            abandon(connection);
            throw e;
        }
    }

    /** It may never answer again and not break either. Its end has those that listen listen on the next one. */
    private void abandon(StatefulRedisPubSubConnection<String, String> connection) {
        giveUp(connection);
        Future<?> unused = connection.closeAsync();
    }

    /**
     * Abandons the connection if the server does not answer on it. The loss of a host ends no connection, and this one only hears, so
     * nobody would notice. Does not wait.
     */
    private void probe() {
        StatefulRedisPubSubConnection<String, String> connection = present();
        if (connection == null || !connection.isOpen() || !probing.compareAndSet(false, true)) {
            return;
        }
        // It changes nothing, and is answered. The client library sends no PING on a connection that listens.
        RedisFuture<Void> answer = connection.async().unsubscribe(NOBODYS);
        Future<?> unused =
                answer.whenComplete((done, failure) -> probing.set(false)).toCompletableFuture();
        connections.afterTimeout(() -> {
            if (!answer.isDone()) {
                probing.set(false);
                abandon(connection);
            }
        });
    }

    /** One that is listened to, null if none is; another each time, because its server may not answer. */
    private @Nullable String anyChannel() {
        List<String> all = List.copyOf(listeners.keySet());
        return all.isEmpty() ? null : all.get(ThreadLocalRandom.current().nextInt(all.size()));
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
        Connecting known;
        lock.lock();
        try {
            known = connecting;
        } finally {
            lock.unlock();
        }
        if (known != null) {
            Future<?> unused = known.ready.thenAccept(connection -> unsubscribe(connection, channel));
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

    /** Null if there is none, or not yet. */
    private @Nullable StatefulRedisPubSubConnection<String, String> present() {
        lock.lock();
        try {
            Connecting known = connecting;
            return known == null || known.ready.isCompletedExceptionally() ? null : known.ready.getNow(null);
        } finally {
            lock.unlock();
        }
    }

    /**
     * The connection, which is opened if there is none. If there is none yet, the channel's own server is tried beside those that are
     * tried already: one that stands still must not keep anybody from listening at another.
     *
     * @param channel which is to be heard
     */
    private CompletableFuture<StatefulRedisPubSubConnection<String, String>> connection(String channel) {
        lock.lock();
        try {
            Connecting known = connecting;
            if (known == null || isOver(known.ready)) {
                CompletableFuture<StatefulRedisPubSubConnection<String, String>> first = new CompletableFuture<>();
                known = new Connecting(new ArrayList<>(), new AtomicInteger(), first, first.thenApply(this::prepare));
                connecting = known;
            }
            if (!known.first.isDone()
                    && known.channels.stream().allMatch(tried -> connections.areApart(tried, channel))) {
                known.channels.add(channel);
                tryToo(known, channel);
            }
            return known.ready;
        } finally {
            lock.unlock();
        }
    }

    /** Whether it failed, or its connection ended before {@link #giveUp} could know it. */
    private static boolean isOver(CompletableFuture<StatefulRedisPubSubConnection<String, String>> ready) {
        return ready.isCompletedExceptionally()
                || (ready.isDone() && !ready.join().isOpen());
    }

    private void tryToo(Connecting known, String channel) {
        known.open.incrementAndGet();
        Future<?> unused = opening.open(channel).whenComplete((connection, failure) -> {
            int left = known.open.decrementAndGet();
            if (failure == null && !known.first.complete(connection)) {
                Future<?> unusedToo = connection.closeAsync();
            } else if (failure != null && left == 0) {
                known.first.completeExceptionally(failure);
            }
        });
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
            if (connection.equals(present())) {
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
        String channel = anyChannel();
        if (closed || channel == null) {
            return;
        }
        Future<?> unused = connection(channel)
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
