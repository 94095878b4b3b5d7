package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.redis.net.WireException.MovedException;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One connection. It does not reconnect: a new connection has no WATCH, so what was decided under the old one must not be
 * sent on it. After a {@link WireException} the wire is closed, and its user opens another.
 *
 * <p>Thread-safe as long as no transaction is sent; with transactions it has one owner at a time.
 */
public final class RedisWire {
    private final StatefulRedisConnection<String, String> connection;
    private final HostAndPort server;
    private final Greeting.Server self;
    private final Duration timeout;
    private final Servers servers;
    private final BiConsumer<RedisWire, CompletableFuture<Void>> closing;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Takes a connection.
     *
     * @param server where it ends
     * @param self what the server says of itself on this connection
     * @param timeout how long the server may take to answer
     * @param servers hears when that server sends us elsewhere
     * @param closing is given the wire, when it is closed, and the end to wait for
     */
    RedisWire(
            StatefulRedisConnection<String, String> connection,
            HostAndPort server,
            Greeting.Server self,
            Duration timeout,
            Servers servers,
            BiConsumer<RedisWire, CompletableFuture<Void>> closing) {
        this.connection = connection;
        this.server = server;
        this.self = self;
        this.timeout = timeout;
        this.servers = servers;
        this.closing = closing;
    }

    public HostAndPort server() {
        return server;
    }

    /** Names what the data of the server at the other end has gone through; empty if it does not say. */
    public String history() {
        return self.history();
    }

    public boolean isOpen() {
        return !closed.get() && connection.isOpen();
    }

    /**
     * Sends the commands in one write and waits for all replies, for the time-out at most.
     *
     * @throws MovedException if another server is to be asked and nothing was done; the wire is closed then. It is closed too,
     *     without that, if the transaction was done and only what follows it is another server's
     */
    public Replies ask(CommandBatch batch, Deadline deadline) {
        if (!isOpen()) {
            throw lost();
        }
        CompletableFuture<Replies> answer = batch.answer();
        batch.sendOn(connection);
        try {
            Deadline end = deadline.earlier(Deadline.after(System.nanoTime(), timeout));
            return checked(batch, InterruptShield.await(answer, end), null);
        } catch (ExecutionException e) {
            return checked(batch, null, e.getCause());
        } catch (TimeoutException | CancellationException e) {
            return checked(batch, null, e);
        }
    }

    /**
     * Sends the commands in one write and does not wait.
     *
     * @param batch is given up by {@link CommandBatch#giveUp}
     * @param then is given, on a thread that must not wait, what returns or throws as {@link #ask} does
     */
    public void send(CommandBatch batch, Consumer<Supplier<Replies>> then) {
        if (!isOpen()) {
            then.accept(() -> {
                throw lost();
            });
            return;
        }
        Future<?> unused =
                batch.answer().whenComplete((replies, failure) -> then.accept(() -> checked(batch, replies, failure)));
        batch.sendOn(connection);
    }

    private WireException lost() {
        return new WireException("the connection to " + server + " is lost", null, false);
    }

    private Replies checked(CommandBatch batch, @Nullable Replies replies, @Nullable Throwable failure) {
        if (replies != null) {
            return here(batch, replies);
        }
        close();
        String what = failure instanceof TimeoutException
                ? server + " did not answer in time"
                : "the connection to " + server + (failure instanceof CancellationException ? " was closed" : " broke");
        throw new WireException(what, failure, batch.mayChange());
    }

    private Replies here(CommandBatch batch, Replies replies) {
        String elsewhere = elsewhere(replies);
        if (elsewhere != null) {
            close();
            if (batch.mayChange() && replies.isPartlyDone()) {
                throw new WireException(server + " says '" + elsewhere + "' to a part", null, true);
            } else if (!replies.isDone()) {
                throw new MovedException(server + " says '" + elsewhere + "'");
            }
        }
        String broken = replies.brokenTransaction();
        if (broken != null) {
            // Such as a right that was taken away. The next connection says it in its greeting.
            close();
            throw new WireException(server + " says '" + broken + "' to MULTI", null, true);
        }
        if (replies.isShortOfReplicas()) {
            servers.doubt(Replicas.SHORTAGE, server, this::close);
        }
        return replies;
    }

    /** Each is heard, because the keys of a batch may have gone to several servers. Returns the first; null if there is none. */
    private @Nullable String elsewhere(Replies replies) {
        String first = null;
        for (Reply reply : replies.all()) {
            String error = reply.error();
            if (error != null && servers.isElsewhere(error, server)) {
                first = first == null ? error : first;
            } else if (error != null) {
                servers.doubt(error, server, this::close);
            }
        }
        return first;
    }

    /**
     * Has the server end another connection. What was sent on that and is not done by then never will be.
     *
     * @param former is closed on this side, but its last commands may still be on their way
     * @return false if that is not certain: it led to another server, or this user may not end connections
     */
    public boolean outlive(RedisWire former, Deadline deadline) {
        boolean same = !self.runId().isEmpty() && self.runId().equals(former.self.runId());
        if (!same || former.self.connection() == Greeting.NO_CONNECTION) {
            return false;
        }
        CommandBatch batch = new CommandBatch();
        int ended = batch.add(RedisVerb.CLIENT, "KILL", "ID", Long.toString(former.self.connection()));
        return ask(batch, deadline).all().get(ended).error() == null;
    }

    /** Sends the commands in one write; nobody waits for the replies. */
    public void tell(CommandBatch batch) {
        if (isOpen() && !batch.isEmpty()) {
            batch.sendOn(connection);
        }
    }

    /** Does not wait. */
    public void close() {
        if (closed.compareAndSet(false, true)) {
            closing.accept(this, connection.closeAsync());
        }
    }
}
