package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A channel that reads at the end of the stream, and writes. The broker sends every reader the messages of all clients. So one that has read
 * many of others since it drew an epoch stops, or an epoch would cost a message to each client there is. It keeps the channel: a new one
 * costs the broker several processes. One thread at a time draws.
 */
final class FenceChannel {
    private static final Logger LOG = LoggerFactory.getLogger(FenceChannel.class);

    private static final int UNACKNOWLEDGED = 256;

    /** A broker closes a channel on which a message is not acknowledged for long, by default half an hour, and at least a minute. */
    private static final Duration LONGEST_UNACKNOWLEDGED = Duration.ofSeconds(20);

    /** So many epochs of others are read since this client drew one. Beginning to read again costs the broker about as much. */
    static final int MOST_OF_OTHERS = 8;

    private static final byte[] EMPTY = {};

    private final RabbitConnections connections;
    private final QueueNames names;
    private final String self = UUID.randomUUID().toString();
    private final ReentrantLock lock = new ReentrantLock();
    private volatile Draw draw = Draw.next(self);
    private final Channel channel;
    private volatile State state = State.STARTING;
    private volatile String consumer = "";
    private long drawn;
    private boolean sent;
    private int unacknowledged;
    private long lastTag;
    private boolean acknowledgesLater;
    private int foreign;

    /**
     * An epoch that is being drawn, or was drawn last.
     *
     * @param message what tells its message from those of others
     * @param offset the offset that the message got
     */
    private record Draw(String message, CompletableFuture<Long> offset) {
        static Draw next(String message) {
            return new Draw(message, new CompletableFuture<>());
        }
    }

    /** What a channel does. It reads while epochs are drawn; to stop and to start takes a round trip. */
    private enum State {
        STARTING,
        READING,
        STOPPING,
        RESTING
    }

    FenceChannel(RabbitConnections connections, QueueNames names, Channel channel) {
        this.connections = connections;
        this.names = names;
        this.channel = channel;
        channel.addShutdownListener(signal -> fail("its channel was closed: " + signal.getMessage(), signal));
        channel.addReturnListener(message -> fail("it is gone", null));
    }

    void start() throws IOException {
        foreign = 0;
        if (consumer.isEmpty()) {
            channel.basicQos(UNACKNOWLEDGED);
        }
        consumer = channel.basicConsume(
                names.fences(),
                false,
                Map.of("x-stream-offset", "next"),
                (tag, message) -> received(message),
                tag -> abandon());
        state = State.READING;
    }

    /** Whether an epoch was sent for and not awaited. */
    boolean isSent() {
        return sent && channel.isOpen();
    }

    private void fail(String reason, @Nullable ShutdownSignalException signal) {
        draw.offset.completeExceptionally(new IOException("the stream of fences: " + reason, signal));
    }

    /** The stream was deleted; one that is created again has a new reader. */
    private void abandon() {
        fail("it was deleted", null);
        close();
    }

    private void received(Delivery message) throws IOException {
        acknowledge(message.getEnvelope().getDeliveryTag());
        Draw last = draw;
        if (last.message.equals(message.getProperties().getMessageId())
                && message.getProperties().getHeaders().get("x-stream-offset") instanceof Long number) {
            last.offset.complete(number);
            foreign = 0;
            return;
        }
        foreign++;
        if (foreign >= MOST_OF_OTHERS && stops()) {
            connections.execute(this::rest);
        }
    }

    /** Many at once, unless none may follow. */
    private void acknowledge(long tag) throws IOException {
        lock.lock();
        try {
            lastTag = tag;
            unacknowledged++;
            if (unacknowledged >= UNACKNOWLEDGED / 4 || state == State.STOPPING || state == State.RESTING) {
                acknowledge();
            } else if (!acknowledgesLater) {
                acknowledgesLater = true;
                connections.later(() -> connections.executeIfPossible(this::acknowledgeAll), LONGEST_UNACKNOWLEDGED);
            }
        } finally {
            lock.unlock();
        }
    }

    /** A channel sends one thing at a time, and a tag that is acknowledged twice would close it: under the lock. */
    private void acknowledge() throws IOException {
        if (unacknowledged > 0) {
            unacknowledged = 0;
            channel.basicAck(lastTag, /* multiple */ true);
        }
    }

    private void acknowledgeAll() {
        lock.lock();
        try {
            acknowledgesLater = false;
            acknowledge();
        } catch (IOException | ShutdownSignalException e) {
            LOG.debug("{}: the stream of fences is not read any more", names.subject(), e);
        } finally {
            lock.unlock();
        }
    }

    /** Whether it stops to read now, as no epoch is being drawn. */
    private boolean stops() {
        lock.lock();
        try {
            boolean stops = state == State.READING && draw.offset.isDone();
            if (stops) {
                state = State.STOPPING;
            }
            return stops;
        } finally {
            lock.unlock();
        }
    }

    private void rest() {
        try {
            channel.basicCancel(consumer);
            state = State.RESTING;
            acknowledgeAll();
        } catch (IOException | ShutdownSignalException e) {
            close();
        }
    }

    /** From now on it reads until the next epoch is there; false if it has stopped. */
    boolean begin() {
        lock.lock();
        try {
            drawn++;
            draw = Draw.next(self + ":" + drawn);
            return state == State.READING && channel.isOpen();
        } finally {
            lock.unlock();
        }
    }

    /** Whether it can be started again, which the caller does then. */
    boolean leavesRest() {
        boolean leaves = state == State.RESTING && channel.isOpen();
        if (leaves) {
            state = State.STARTING;
        }
        return leaves;
    }

    void send() throws IOException {
        AMQP.BasicProperties properties = new AMQP.BasicProperties.Builder()
                .messageId(draw.message)
                .deliveryMode(2)
                .build();
        lock.lock();
        try {
            channel.basicPublish("", names.fences(), true, properties, EMPTY);
        } finally {
            lock.unlock();
        }
        sent = true;
    }

    long await(Deadline end) throws IOException {
        sent = false;
        try {
            return InterruptShield.await(draw.offset, end);
        } catch (ExecutionException | TimeoutException e) {
            throw new IOException("the stream of fences did not answer", e);
        }
    }

    void close() {
        HolderConnection.abort(channel);
    }
}
