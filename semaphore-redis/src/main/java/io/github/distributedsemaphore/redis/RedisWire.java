package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.protocol.AsyncCommand;
import java.util.Collection;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;

/**
 * One connection. It does not reconnect: a new connection has no WATCH, so what was decided under the old one must not be
 * sent on it. Whoever gets a {@link WireException} has a closed wire and opens another.
 *
 * <p>Thread-safe as long as no transaction is sent; with transactions it has one owner at a time.
 */
final class RedisWire {
    private final StatefulRedisConnection<String, String> connection;
    private final HostAndPort server;
    private final Servers servers;
    private final BiConsumer<RedisWire, CompletableFuture<Void>> closing;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Takes a connection.
     *
     * @param server where it ends
     * @param servers is told when that server sends us elsewhere
     * @param closing is given the wire, when it is closed, and the end to wait for
     */
    RedisWire(
            StatefulRedisConnection<String, String> connection,
            HostAndPort server,
            Servers servers,
            BiConsumer<RedisWire, CompletableFuture<Void>> closing) {
        this.connection = connection;
        this.server = server;
        this.servers = servers;
        this.closing = closing;
    }

    HostAndPort server() {
        return server;
    }

    boolean isOpen() {
        return !closed.get() && connection.isOpen();
    }

    /**
     * Sends the commands in one write and waits for all replies.
     *
     * @throws MovedException if another server is to be asked and nothing was done; the wire is closed then. It is closed too,
     *     without that, if the transaction was done and only what follows it is another server's
     */
    Replies ask(CommandBatch batch, Deadline deadline) {
        if (!isOpen()) {
            throw new WireException("the connection to " + server + " is lost", null, false);
        }
        AsyncCommand<String, String, Reply> last = batch.last();
        connection.dispatch(batch.commands());
        await(last, batch.isTransaction(), deadline);
        return here(batch.replies());
    }

    private Replies here(Replies replies) {
        for (Reply reply : replies.all()) {
            String error = reply.error();
            if (error != null && servers.isElsewhere(error, server)) {
                close();
                if (!replies.isDone()) {
                    throw new MovedException(server + " says '" + error + "'");
                }
            }
        }
        return replies;
    }

    private void await(AsyncCommand<String, String, Reply> command, boolean changes, Deadline deadline) {
        try {
            Awaiting.future(command, deadline);
        } catch (TimeoutException e) {
            close();
            throw new WireException(server + " did not answer in time", e, changes);
        } catch (ExecutionException e) {
            // When a connection breaks, Lettuce leaves a text of its own as the reply: that is no answer of the server.
            if (!(e.getCause() instanceof RedisCommandExecutionException)) {
                close();
                throw new WireException("the connection to " + server + " broke", e.getCause(), changes);
            }
        } catch (CancellationException e) {
            throw new WireException("the connection to " + server + " was closed", e, changes);
        }
    }

    /** Sends the commands in one write; nobody waits for the replies. */
    void tell(CommandBatch batch) {
        if (isOpen() && !batch.isEmpty()) {
            Collection<?> unused = connection.dispatch(batch.commands());
        }
    }

    /** Does not wait. */
    void close() {
        if (closed.compareAndSet(false, true)) {
            closing.accept(this, connection.closeAsync());
        }
    }
}
