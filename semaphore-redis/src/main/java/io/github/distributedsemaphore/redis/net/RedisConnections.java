package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.redis.net.WireException.MovedException;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections of one client. Each session has one of its own for its watch; and of each server that it uses, one is
 * shared by everything that sends no transaction, and one is for administration. One listens to channels.
 *
 * <p>Thread-safe.
 */
public final class RedisConnections implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RedisConnections.class);
    private static final int MOST_ATTEMPTS = 4;
    private static final Duration SHUTDOWN = Duration.ofSeconds(2);

    /**
     * How much longer the calls before the first contact may take: on a busy machine the client library loads for seconds. A server
     * that does not answer is given up after the time-out all the same, for that is counted from the sending.
     */
    private static final Duration LOADING = Duration.ofSeconds(30);

    /** Before a server is asked again that sent us elsewhere. */
    private static final Duration PAUSE = Duration.ofMillis(5);

    private final ServerSettings settings;
    private final boolean demanding;
    private final RedisConnector connector;
    private final Servers servers;
    private final WirePool shared = new WirePool(this);

    /** For all transactions that are not exchanges. */
    private final WirePool exclusive = new WirePool(this);

    private final Map<RedisWire, CompletableFuture<Void>> ending = new ConcurrentHashMap<>();
    private final Map<HostAndPort, Greeting.Server> contacts = new ConcurrentHashMap<>();
    private volatile Optional<Greeting.Server> contacted = Optional.empty();
    private volatile Runnable connected = () -> {};

    /**
     * Prepares connections and makes none.
     *
     * @param demanding whether a server is refused on which a semaphore could not hold
     */
    public RedisConnections(ServerSettings settings, boolean demanding) {
        this.settings = settings;
        this.demanding = demanding;
        this.connector = new RedisConnector(settings);
        RedisAddress address = settings.address();
        this.servers = switch (address.kind()) {
            case SERVER ->
                key -> CompletableFuture.completedFuture(address.hosts().get(0));
            case SENTINEL ->
                new SentinelServers(connector, address.hosts(), address.master(), settings.sentinelCredentials());
            case CLUSTER -> new ClusterServers(connector, address.hosts(), settings.credentials());
        };
    }

    /** For messages. */
    public String endpoint() {
        return settings.address().toString();
    }

    /** By when a call that starts now has to be over. */
    public Deadline callDeadline() {
        return contacted.isEmpty()
                ? Deadline.after(System.nanoTime(), settings.timeout().plus(LOADING))
                : usualDeadline();
    }

    /** As {@link #callDeadline}, once a server was contacted. */
    Deadline usualDeadline() {
        return Deadline.after(System.nanoTime(), settings.timeout());
    }

    /** Opens a connection to the server that has the key. */
    public RedisWire open(String key, Deadline deadline) {
        return reach(key, deadline, server -> open(server, deadline));
    }

    /** Connects to the server that has the key; if that cannot be reached, to the one that has taken its place. */
    <T> T reach(String key, Deadline deadline, Function<HostAndPort, T> connecting) {
        HostAndPort server = serverOf(key, deadline);
        try {
            return connecting.apply(server);
        } catch (BackendUnavailableException e) {
            servers.forget(server);
            HostAndPort other = serverOf(key, deadline);
            if (other.equals(server)) {
                throw e;
            }
            return connecting.apply(other);
        }
    }

    /** The server that has the key. */
    public HostAndPort serverOf(String key, Deadline deadline) {
        return await(servers.serverOf(key), deadline, endpoint());
    }

    /** When a server turns a connection away, the end may overtake the reason; another attempt tells it. */
    RedisWire open(HostAndPort server, Deadline deadline) {
        for (int attempt = 1; attempt < MOST_ATTEMPTS; attempt++) {
            try {
                return connect(server, deadline);
            } catch (BackendUnavailableException e) {
                if (!RedisFailures.isCutInHandshake(e) || deadline.isPast(System.nanoTime())) {
                    throw e;
                }
            }
        }
        return connect(server, deadline);
    }

    private RedisWire connect(HostAndPort server, Deadline deadline) {
        Greeting greeting = new Greeting(settings, demanding);
        StatefulRedisConnection<String, String> connection =
                await(connector.connect(server, greeting), deadline, server.toString());
        Greeting.Server found = greeting.found();
        contacts.put(server, found);
        contacted = contacts.values().stream().reduce(Greeting.Server::and);
        connected.run();
        return new RedisWire(connection, server, found, settings.timeout(), servers, this::ending);
    }

    /** What holds of all servers that were connected to so far; empty before the first. */
    public Optional<Greeting.Server> contacted() {
        return contacted;
    }

    private static <T> T await(CompletableFuture<T> future, Deadline deadline, String endpoint) {
        try {
            return InterruptShield.await(future, deadline);
        } catch (ExecutionException e) {
            throw RedisFailures.connecting(endpoint, e);
        } catch (TimeoutException e) {
            // It may still come about, and then nobody wants it.
            Future<?> unused = future.thenAccept(late -> {
                if (late instanceof StatefulRedisConnection<?, ?> connection) {
                    Future<?> unusedToo = connection.closeAsync();
                }
            });
            throw new BackendUnavailableException("Redis at " + endpoint + " did not let us connect in time", e);
        }
    }

    private void ending(RedisWire wire, CompletableFuture<Void> end) {
        ending.put(wire, end);
        Future<?> unused = end.whenComplete((done, failure) -> ending.remove(wire));
    }

    /** Has a task run after each new connection for commands, which may follow upon one that was lost. It must not wait. */
    void afterConnecting(Runnable task) {
        connected = task;
    }

    /**
     * Opens a connection for channels, without waiting for it. Any server hears what is said at another.
     *
     * @param channel which is to be heard: its server is the one that its listener needs anyway
     */
    CompletableFuture<StatefulRedisPubSubConnection<String, String>> openPubSub(String channel) {
        return servers.serverOf(channel)
                .thenCompose(server -> connector.connectPubSub(server).whenComplete((connection, failure) -> {
                    if (failure != null) {
                        servers.forget(server);
                    }
                }));
    }

    /** Whether two channels are those of different servers, as far as that is known without waiting. */
    boolean areApart(String one, String other) {
        HostAndPort first = knownServerOf(one);
        return first != null && !first.equals(Objects.requireNonNullElse(knownServerOf(other), first));
    }

    private @Nullable HostAndPort knownServerOf(String key) {
        CompletableFuture<HostAndPort> server = servers.serverOf(key);
        return server.isDone() && !server.isCompletedExceptionally() ? server.join() : null;
    }

    /** Runs a task once the time is over that a server has to answer. */
    void afterTimeout(Runnable task) {
        later(task, settings.timeout().toMillis());
    }

    /** Runs a task later, on a thread that may not be blocked. */
    public void later(Runnable task, long millis) {
        try {
            Future<?> unused = connector.timer().schedule(task, millis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("Closed meanwhile", e);
        }
    }

    /**
     * Asks on the shared connection of the server that has the key; no transactions. Throws if the server refused any of the commands.
     *
     * @param what for messages
     */
    public Replies ask(String what, String key, CommandBatch batch, Deadline deadline) {
        try {
            Replies replies = followed(key, batch, deadline);
            replies.requireAll();
            return replies;
        } catch (RedisErrorException | WireException e) {
            throw RedisFailures.certain(what, e);
        }
    }

    private Replies followed(String key, CommandBatch batch, Deadline deadline) {
        while (true) {
            try {
                return shared(key, deadline).ask(batch, deadline);
            } catch (MovedException e) {
                follow(e, deadline);
                batch.renew();
            }
        }
    }

    /** It is one thread's only while it is made. */
    private RedisWire shared(String key, Deadline deadline) {
        try (WirePool.Taken taken = shared.take(key, deadline)) {
            return taken.wire();
        }
    }

    /** Something to be done on a connection; null to be tried again, because somebody else changed something meanwhile. */
    @FunctionalInterface
    public interface Operation<T> {
        @Nullable
        T on(RedisWire wire, Deadline deadline);
    }

    /** As {@link #change}, for an operation that changes nothing: without an answer it has not failed halfway. */
    public <T> T look(String what, String key, Operation<T> operation) {
        try {
            return change(what, key, operation);
        } catch (OutcomeUnknownException e) {
            throw new BackendUnavailableException(what + ": no answer in time", e);
        }
    }

    /**
     * Does an operation on a connection that nobody else uses meanwhile, as often as it takes.
     *
     * @param what for messages
     * @param key on whose server
     */
    public <T> T change(String what, String key, Operation<T> operation) {
        return change(what, key, callDeadline(), operation);
    }

    /** The same within another time than that of a call. */
    public <T> T change(String what, String key, Deadline deadline, Operation<T> operation) {
        try {
            while (true) {
                T result = tried(key, operation, deadline);
                if (result != null) {
                    return result;
                }
                if (deadline.isPast(System.nanoTime())) {
                    throw new BackendUnavailableException(
                            what + ": too much traffic to get a transaction through in time", null);
                }
            }
        } catch (WireException | RedisErrorException e) {
            throw RedisFailures.of(what, e);
        }
    }

    private <T> @Nullable T tried(String key, Operation<T> operation, Deadline deadline) {
        try (WirePool.Taken taken = exclusive.take(key, deadline)) {
            return operation.on(taken.wire(), deadline);
        } catch (MovedException e) {
            follow(e, deadline);
            return null;
        }
    }

    /** Waits until {@link #soon}, or throws the exception if the time of the call is over. */
    public static void follow(MovedException moved, Deadline deadline) {
        if (deadline.isPast(System.nanoTime())) {
            throw moved;
        }
        Pause.until(soon());
    }

    /** When to ask again after a server has sent us elsewhere. */
    public static Deadline soon() {
        return Deadline.after(System.nanoTime(), PAUSE);
    }

    @Override
    public void close() {
        try {
            // Lettuce complains of connections that are about to be closed when it shuts down.
            CompletableFuture<Void> all =
                    CompletableFuture.allOf(ending.values().toArray(CompletableFuture<?>[]::new));
            InterruptShield.await(all, Deadline.after(System.nanoTime(), SHUTDOWN));
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("Connections were not closed in order", e);
        }
        try {
            connector.close(SHUTDOWN, Deadline.after(System.nanoTime(), SHUTDOWN.multipliedBy(2)));
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("The client library did not end in order", e);
        }
    }
}
