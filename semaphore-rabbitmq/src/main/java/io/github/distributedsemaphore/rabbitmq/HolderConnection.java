package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.IOException;
import java.net.Socket;
import java.util.Deque;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection that holds exclusive queues. They live as long as it does and are nobody else's, whatever channel declared
 * them. It never publishes: under a memory alarm the broker stops to read from a connection that does, and its queues could
 * then neither be checked nor deleted.
 *
 * <p>Every request is bounded in time. One whose answer does not come may have had its effect, so it costs the connection:
 * only that makes sure that no queue is left behind that nobody knows of. Thread-safe.
 */
final class HolderConnection {
    private static final Logger LOG = LoggerFactory.getLogger(HolderConnection.class);

    /** Beside the expiration that each probe has: what is routed to such a queue is not kept. */
    private static final Map<String, Object> KEEPS_NOTHING = Map.of("x-max-length", 0);

    private final RabbitConnections connections;
    private final RabbitConnections.Opened opened;
    private final Consumer<String> onLost;
    private final AtomicBoolean over = new AtomicBoolean();
    private final Deque<Channel> idle = new ConcurrentLinkedDeque<>();

    /** Connects. Tells once that the connection is gone, unless by {@link #close}. */
    HolderConnection(RabbitConnections connections, String purpose, Consumer<String> onLost) {
        this.connections = connections;
        this.onLost = onLost;
        // Its consumers only count holders: the client library would warn of each when their queue is deleted.
        this.opened = connections.open(purpose, /* told */ false);
        opened.connection().addShutdownListener(signal -> lost("the connection is gone: " + signal.getMessage()));
    }

    /** Something to ask the broker on a channel. */
    @FunctionalInterface
    private interface Request {
        void on(Channel channel) throws IOException;
    }

    /** The interval that broker and client agreed on, in seconds. */
    int heartbeat() {
        return opened.connection().getHeartbeat();
    }

    /** Declares an exclusive queue: a hold, or the mutex. OK also if this connection has it already. */
    QueueAnswer declareExclusive(String queue) throws LinkLostException {
        return ask(queue, channel -> channel.queueDeclare(queue, false, true, false, KEEPS_NOTHING));
    }

    /** Makes the queue of a slot, or finds it as it should be. */
    QueueAnswer declareSlot(String queue) throws LinkLostException {
        // Said explicitly, for a virtual host may have another default type.
        Map<String, Object> arguments =
                Map.of("x-max-length", 0, "x-queue-type", connections.settings().slotQueueType());
        return ask(queue, channel -> channel.queueDeclare(queue, true, false, false, arguments));
    }

    /** Makes a queue at which holders are counted, or finds it as it should be. */
    QueueAnswer declareCount(String queue) throws LinkLostException {
        Map<String, Object> arguments = Map.of("x-max-length", 0, "x-queue-type", "classic");
        return ask(queue, channel -> channel.queueDeclare(queue, true, false, false, arguments));
    }

    /** Makes a stream, or finds it as it should be. */
    QueueAnswer declareStream(String queue) throws LinkLostException {
        return ask(queue, channel -> channel.queueDeclare(queue, true, false, false, FenceStream.arguments()));
    }

    /** Tells whether a queue is there and not exclusive to another connection. */
    QueueAnswer look(String queue) throws LinkLostException {
        return ask(queue, channel -> channel.queueDeclarePassive(queue));
    }

    /** Deletes a queue. When it returns OK the queue is gone; it may have been gone before. */
    QueueAnswer delete(String queue) throws LinkLostException {
        return ask(queue, channel -> channel.queueDelete(queue));
    }

    private QueueAnswer ask(String queue, Request request) throws LinkLostException {
        Channel channel = null;
        try {
            channel = borrow();
            request.on(channel);
            idle.push(channel);
            return QueueAnswer.OK;
        } catch (IOException | ShutdownSignalException e) {
            return refused(queue, e);
        }
    }

    private Channel borrow() throws IOException {
        for (Channel channel = idle.poll(); channel != null; channel = idle.poll()) {
            if (channel.isOpen()) {
                return channel;
            }
        }
        Channel channel = opened.connection().createChannel();
        if (channel == null) {
            throw Failures.channelLimit(connections.settings(), null);
        }
        return channel;
    }

    /** A channel for what can be done without; null if there is none to be had. */
    @Nullable
    Channel openSpare() {
        try {
            return opened.connection().createChannel();
        } catch (IOException | ShutdownSignalException e) {
            LOG.debug("no spare channel", e);
            return null;
        }
    }

    /** Ends a spare channel. May block while it has an open request. */
    static void abort(Channel spare) {
        try {
            spare.abort();
        } catch (IOException e) {
            LOG.debug("a spare channel did not close in order", e);
        }
    }

    /** The broker answers a request that it refuses by closing the channel, with the reason. */
    private QueueAnswer refused(String queue, Exception e) throws LinkLostException {
        ShutdownSignalException signal = Failures.signal(e);
        if (Failures.isNotAllowed(signal)) {
            drop("the broker ended the connection: " + e);
            throw Failures.channelLimit(connections.settings(), e);
        }
        if (signal == null || !(signal.getReason() instanceof AMQP.Channel.Close close)) {
            throw lose("a request about '" + queue + "' had no answer: " + e, e);
        }
        String text = close.getReplyText();
        return switch (close.getReplyCode()) {
            case AMQP.NOT_FOUND -> isNodeDown(text) ? QueueAnswer.DOWN : QueueAnswer.ABSENT;
            case AMQP.RESOURCE_LOCKED -> QueueAnswer.LOCKED;
            case AMQP.ACCESS_REFUSED -> throw Failures.denied(connections.settings(), queue, text, e);
            case AMQP.PRECONDITION_FAILED -> throw Failures.inequivalent(connections.settings(), queue, text, e);
            default -> throw lose("a request about '" + queue + "' was refused: " + text, e);
        };
    }

    private static boolean isNodeDown(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        return lower.contains("is down") || lower.contains("inaccessible") || lower.contains("stopped by supervisor");
    }

    private LinkLostException lose(String reason, Exception cause) {
        drop(reason);
        return new LinkLostException(connections.settings().broker() + ": " + reason, cause);
    }

    boolean isOpen() {
        return !over.get() && opened.connection().isOpen();
    }

    /** Ends the connection without a word, as if the process had died. Does not block. */
    void drop(String reason) {
        connections.execute(this::closeSocket);
        lost(reason);
    }

    private void closeSocket() {
        Socket socket = opened.socket();
        try {
            socket.close();
        } catch (IOException e) {
            LOG.debug("a socket did not close in order", e);
        }
        opened.connection().abort(0);
    }

    private void lost(String reason) {
        if (over.compareAndSet(false, true)) {
            onLost.accept(reason);
        }
    }

    /** Ends the connection; when it returns, what it held is free, unless the broker did not answer in time. */
    void close() {
        if (over.compareAndSet(false, true)) {
            try {
                opened.connection()
                        .close(
                                AMQP.REPLY_SUCCESS,
                                "closed",
                                connections.settings().timeoutMillis());
            } catch (IOException | ShutdownSignalException e) {
                LOG.debug("a connection did not close in order", e);
                closeSocket();
            }
        }
    }
}
