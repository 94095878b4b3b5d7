package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.SemaphoreException;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection that publishes: probes and hints. Nothing depends on its life, so it is dropped when it does not answer and
 * made anew when it is needed. Thread-safe.
 */
final class ProbeConnection implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ProbeConnection.class);

    private static final int CHANNELS = 2;

    private final RabbitConnections connections;
    private final ReentrantLock lock = new ReentrantLock();
    private @Nullable Line line;
    private boolean closed;

    ProbeConnection(RabbitConnections connections) {
        this.connections = connections;
    }

    /** One connection and the channels that nobody uses now. */
    static final class Line {
        private final Connection connection;
        private final Socket socket;
        private final Deque<ProbeChannel> idle = new ConcurrentLinkedDeque<>();
        private volatile boolean blocked;

        private Line(RabbitConnections.Opened opened) {
            this.connection = opened.connection();
            this.socket = opened.socket();
            connection.addBlockedListener(
                    reason -> {
                        LOG.warn("The broker takes no messages now ({}): slots are looked for one by one", reason);
                        blocked = true;
                    },
                    () -> blocked = false);
        }

        boolean isOpen() {
            return connection.isOpen();
        }

        boolean isBlocked() {
            return blocked;
        }

        Channel newChannel() throws IOException {
            Channel channel = connection.createChannel();
            if (channel == null) {
                throw new IOException("the broker's limit of channels is reached");
            }
            return channel;
        }

        private void drop() {
            try {
                socket.close();
            } catch (IOException e) {
                LOG.debug("a socket did not close in order", e);
            }
            connection.abort(0);
        }
    }

    /** Looks which queues exist. */
    List<Existence> probe(List<String> queues) throws ProbeFailedException {
        Line used = line();
        if (used.blocked) {
            throw new ProbeFailedException("the broker takes no messages now", null);
        }
        boolean done = false;
        try {
            List<Existence> found = new ArrayList<>(queues.size());
            for (int from = 0; from < queues.size(); from += CHANNELS * ProbeChannel.MOST_AT_ONCE) {
                int to = Math.min(queues.size(), from + CHANNELS * ProbeChannel.MOST_AT_ONCE);
                probe(used, queues.subList(from, to), found);
            }
            done = true;
            return found;
        } catch (IOException | ShutdownSignalException e) {
            throw new ProbeFailedException("a channel to probe could not be opened: " + e, e);
        } catch (ProbeFailedException e) {
            refuseIfDenied(e);
            throw e;
        } finally {
            if (!done && !used.blocked) {
                forget(used);
            }
        }
    }

    /** On several channels at the same time: the broker works on each of them by itself. */
    private void probe(Line used, List<String> queues, List<Existence> found) throws IOException, ProbeFailedException {
        Deque<ProbeChannel> asked = new ArrayDeque<>();
        for (int from = 0; from < queues.size(); from += ProbeChannel.MOST_AT_ONCE) {
            ProbeChannel channel = borrow(used);
            channel.send(queues.subList(from, Math.min(queues.size(), from + ProbeChannel.MOST_AT_ONCE)));
            asked.add(channel);
        }
        for (ProbeChannel channel : asked) {
            channel.answers(connections.settings().timeout().toNanos() / 2, found);
            used.idle.push(channel);
        }
    }

    private static ProbeChannel borrow(Line used) throws IOException {
        for (ProbeChannel channel = used.idle.poll(); channel != null; channel = used.idle.poll()) {
            if (channel.isOpen()) {
                return channel;
            }
        }
        return new ProbeChannel(used.newChannel());
    }

    private void refuseIfDenied(ProbeFailedException failure) {
        ShutdownSignalException signal = Failures.signal(failure);
        if (signal != null
                && signal.getReason() instanceof AMQP.Channel.Close close
                && close.getReplyCode() == AMQP.ACCESS_REFUSED) {
            throw Failures.denied(connections.settings(), "the default exchange", close.getReplyText(), failure);
        }
    }

    /** The connection, opened if there is none. */
    Line line() throws ProbeFailedException {
        lock.lock();
        try {
            if (closed) {
                throw new ProbeFailedException("the client is closed", null);
            }
            Line present = line;
            if (present == null || !present.isOpen()) {
                present = new Line(connections.open("semaphore probes", /* told */ true));
                line = present;
            }
            return present;
        } catch (BackendAccessException e) {
            throw e;
        } catch (SemaphoreException e) {
            throw new ProbeFailedException(String.valueOf(e.getMessage()), e);
        } finally {
            lock.unlock();
        }
    }

    private void forget(Line used) {
        lock.lock();
        try {
            if (line == used) {
                line = null;
            }
        } finally {
            lock.unlock();
        }
        connections.execute(used::drop);
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            if (line != null) {
                if (line.blocked) {
                    line.drop();
                } else {
                    line.connection.abort(
                            AMQP.REPLY_SUCCESS, "closed", connections.settings().timeoutMillis());
                }
                line = null;
            }
        } finally {
            lock.unlock();
        }
    }
}
