package io.github.distributedsemaphore.rabbitmq.net;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.util.Deque;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection that publishes: probes and hints. Nothing depends on its life, so it is dropped when it does not answer and
 * opened again when it is needed. Thread-safe.
 */
public final class ProbeConnection implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ProbeConnection.class);

    private final RabbitConnections connections;
    private final ReentrantLock lock = new ReentrantLock();
    /** Done when it is connected; several may wait for it. */
    private @Nullable CompletableFuture<Line> line;

    private boolean closed;

    public ProbeConnection(RabbitConnections connections) {
        this.connections = connections;
    }

    /** One connection and the channels that nobody uses now. */
    public static final class Line {
        private final RabbitConnections.Opened opened;
        private final Connection connection;
        private final RabbitSettings settings;
        private final String id = UUID.randomUUID().toString();
        private final Deque<QueueSight.Prober> idle = new ConcurrentLinkedDeque<>();
        private volatile boolean blocked;

        private Line(RabbitConnections.Opened opened, RabbitSettings settings) {
            this.opened = opened;
            this.connection = opened.connection();
            this.settings = settings;
            connection.addBlockedListener(
                    reason -> {
                        LOG.warn("The broker takes no messages now ({}): slots are looked for one by one", reason);
                        blocked = true;
                    },
                    () -> blocked = false);
        }

        /** A part of the names of queues that are exclusive to it, as no other connection has it. */
        public String id() {
            return id;
        }

        public boolean isOpen() {
            return connection.isOpen();
        }

        public boolean isBlocked() {
            return blocked;
        }

        /** A channel for probes that nobody uses; null if there is none. */
        QueueSight.@Nullable Prober idleProber() {
            QueueSight.Prober prober = idle.poll();
            while (prober != null && !prober.isOpen()) {
                prober = idle.poll();
            }
            return prober;
        }

        void keep(QueueSight.Prober prober) {
            idle.push(prober);
        }

        /**
         * Opens a channel.
         *
         * @throws BackendAccessException if the connection may have no more; those that it has are as good as before
         */
        public Channel newChannel() throws IOException {
            Channel channel = connection.createChannel();
            if (channel == null) {
                throw Failures.channelLimit(settings, null);
            }
            return channel;
        }
    }

    /** Begins to connect, so that this and something else's way are one. Does not wait. */
    public void prepare() {
        try {
            CompletableFuture<Line> unused = lineSoon();
        } catch (ProbeFailedException e) {
            LOG.debug("the client is being closed", e);
        }
    }

    /** The connection, opened if there is none. */
    public Line line(Deadline patience) throws ProbeFailedException {
        CompletableFuture<Line> present = lineSoon();
        try {
            return InterruptShield.await(present, patience);
        } catch (ExecutionException | TimeoutException e) {
            SemaphoreException failure =
                    Failures.notConnected(connections.settings(), e.getCause() == null ? e : e.getCause());
            if (failure instanceof BackendAccessException refusal) {
                throw refusal;
            }
            throw new ProbeFailedException(String.valueOf(failure.getMessage()), failure);
        }
    }

    private CompletableFuture<Line> lineSoon() throws ProbeFailedException {
        lock.lock();
        try {
            if (closed) {
                throw new ProbeFailedException("the client is closed", null);
            }
            CompletableFuture<Line> present = line;
            if (present == null || isOver(present)) {
                present = connections
                        .connect("semaphore probes", /* told */ true)
                        .thenApply(opened -> new Line(opened, connections.settings()));
                line = present;
            }
            return present;
        } finally {
            lock.unlock();
        }
    }

    private static boolean isOver(CompletableFuture<Line> line) {
        return line.isCompletedExceptionally() || (line.isDone() && !line.join().isOpen());
    }

    /** Drops a connection that does not answer; the next request opens another. Does not block. */
    public void forget(Line used) {
        lock.lock();
        try {
            CompletableFuture<Line> present = line;
            if (present != null && present.isDone() && !present.isCompletedExceptionally() && present.join() == used) {
                line = null;
            }
        } finally {
            lock.unlock();
        }
        connections.execute(used.opened::drop);
    }

    @Override
    public void close() {
        end(false);
    }

    /**
     * Ends the connection.
     *
     * @param atOnce whether without a word, as if the process had died
     */
    public void end(boolean atOnce) {
        CompletableFuture<Line> last;
        lock.lock();
        try {
            closed = true;
            last = line;
            line = null;
        } finally {
            lock.unlock();
        }
        if (last == null || !last.isDone() || last.isCompletedExceptionally()) {
            return;
        }
        Line used = last.join();
        if (atOnce || used.blocked) {
            used.opened.drop();
        } else {
            used.opened.close(connections.settings().timeoutMillis() / 2);
        }
    }

    /** The broker takes no messages now, or did not answer one in time. */
    public static final class ProbeFailedException extends Exception {
        private static final long serialVersionUID = 1L;

        public ProbeFailedException(String message, @Nullable Throwable cause) {
            super(message, cause);
        }
    }
}
