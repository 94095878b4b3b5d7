package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.rabbitmq.ProbeConnection.ProbeFailedException;
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
 * Epochs from a stream of the semaphore: a client that needs one publishes a message and reads which offset it got. Offsets rise
 * with each message and are never given twice while the stream is there, also when the broker drops old messages. See the
 * RabbitMQ documentation, "Streams".
 *
 * <p>An epoch is drawn while the hold is declared, and counts only if the hold is found to be still there afterwards: so
 * a later holder of the slot has drawn later. Publishes, so it lives on the probe connection, and on a channel of its own.
 */
final class FenceStream implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(FenceStream.class);

    /** So many epochs, from the one drawn on, belong to the client that drew it. */
    static final long RUN = 1_024;

    private static final int UNACKNOWLEDGED = 256;

    /** A broker closes a channel on which a message is not acknowledged for long, by default half an hour, and at least a minute. */
    private static final Duration LONGEST_UNACKNOWLEDGED = Duration.ofSeconds(20);

    /** So many epochs of others are read since this client drew one. Beginning to read again costs the broker about as much. */
    static final int MOST_OF_OTHERS = 8;

    private static final byte[] EMPTY = {};
    private static final long RETRY_NANOS = 50_000_000;

    private final RabbitConnections connections;
    private final ProbeConnection probes;
    private final QueueNames names;
    private volatile @Nullable Tap tap;
    private ProbeConnection.@Nullable Line lastLine;

    FenceStream(RabbitConnections connections, ProbeConnection probes, QueueNames names) {
        this.connections = connections;
        this.probes = probes;
        this.names = names;
    }

    /** Arguments of the stream: it keeps next to nothing, for only the offset of the last message matters. */
    static Map<String, Object> arguments() {
        return Map.of(
                "x-queue-type", "stream", "x-max-length-bytes", 1_000_000, "x-stream-max-segment-size-bytes", 500_000);
    }

    /**
     * Draws an epoch that is higher than all that were drawn before, by any client. For one thread at a time.
     *
     * @param budget for how long to wait for a stream that is starting
     * @throws ProbeFailedException if the broker did not answer in time
     */
    long draw(CallBudget budget) throws ProbeFailedException {
        while (true) {
            try {
                return drawOnce(budget.patience());
            } catch (IOException | ShutdownSignalException e) {
                String said = refusal(e);
                if (!isStarting(e) || budget.isSpent()) {
                    goElsewhere();
                    throw new ProbeFailedException("no fence could be drawn: " + said, e);
                }
                try (InterruptShield shield = new InterruptShield()) {
                    shield.pause(RETRY_NANOS);
                }
            }
        }
    }

    /** Sends for the epoch that {@link #draw} is to return, so that its way and something else's are one. */
    void sendFor(CallBudget budget) {
        try {
            Deadline patience = budget.patience();
            Tap unused = send(line(patience), patience);
        } catch (IOException | ShutdownSignalException | ProbeFailedException e) {
            // The drawing call meets it again, and reports it.
            close();
        }
    }

    private long drawOnce(Deadline patience) throws IOException, ProbeFailedException {
        boolean done = false;
        try {
            ProbeConnection.Line line = line(patience);
            Tap present = tap;
            Tap used = present != null && present.isSent() ? present : send(line, patience);
            long offset = used.await(patience);
            done = true;
            // None is 0: a resource that keeps the highest epoch of each slot may begin with that.
            return Math.multiplyExact(offset + 1, RUN);
        } finally {
            if (!done) {
                close();
            }
        }
    }

    /** What the broker said, or else the client library, unless that is something for the caller. */
    private String refusal(Exception e) {
        ShutdownSignalException signal = Failures.signal(e);
        if (signal == null) {
            return e.toString();
        }
        if (!(signal.getReason() instanceof AMQP.Channel.Close close)) {
            return String.valueOf(signal.getMessage());
        }
        if (close.getReplyCode() == AMQP.NOT_FOUND && Failures.isAbsent(close.getReplyText())) {
            throw Failures.withoutFences(names.subject(), e);
        }
        if (close.getReplyCode() == AMQP.ACCESS_REFUSED) {
            throw Failures.denied(connections.settings(), names.fences(), close.getReplyText(), e);
        }
        return close.getReplyText();
    }

    /**
     * After a start of the broker a stream takes a while until it is found, and meanwhile may cost the connection; what is not there at all
     * has been reported by now.
     */
    static boolean isStarting(Exception e) {
        ShutdownSignalException signal = Failures.signal(e);
        if (signal != null && signal.getReason() instanceof AMQP.Connection.Close close) {
            return close.getReplyCode() == AMQP.INTERNAL_ERROR;
        }
        return signal != null
                && signal.getReason() instanceof AMQP.Channel.Close close
                && (close.getReplyCode() == AMQP.NOT_FOUND || Failures.isWithoutReplica(close.getReplyText()));
    }

    /** Also for an epoch that was sent for: while the broker takes no messages there is none, whenever it began. */
    private ProbeConnection.Line line(Deadline patience) throws ProbeFailedException {
        ProbeConnection.Line line = probes.line(patience);
        if (line.isBlocked()) {
            throw new ProbeFailedException("the broker takes no messages now, and a fence needs one", null);
        }
        lastLine = line;
        return line;
    }

    /** Another node may have a replica of the stream where this one has none, as one that joined the cluster later. */
    private void goElsewhere() {
        ProbeConnection.Line line = lastLine;
        lastLine = null;
        if (line != null && connections.settings().addresses().size() > 1) {
            probes.forget(line);
        }
    }

    private Tap send(ProbeConnection.Line line, Deadline patience) throws IOException, ProbeFailedException {
        Tap present = tap;
        if (present != null && present.begin()) {
            present.send();
            return present;
        }
        Tap resting = present != null && present.leavesRest() ? present : null;
        if (resting == null) {
            close();
        }
        // One that nobody has would never stop to read the epochs of all clients.
        Tap used = connections.call(
                () -> started(resting == null ? new Tap(line.newChannel()) : resting), Tap::close, patience);
        tap = used;
        used.send();
        return used;
    }

    private static Tap started(Tap tap) throws IOException {
        try {
            tap.start();
            return tap;
        } catch (IOException | ShutdownSignalException e) {
            tap.close();
            throw e;
        }
    }

    /** Ends the channel, which the broker has to confirm, so that it may block: not here. */
    @Override
    public void close() {
        Tap present = tap;
        tap = null;
        if (present != null) {
            connections.execute(present::close);
        }
    }

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

    /**
     * A channel that reads at the end of the stream, and writes. The broker sends every reader the messages of all clients. So one that has read
     * many of others since it drew an epoch stops, or an epoch would cost a message to each client there is. It keeps the channel: a new one
     * costs the broker several processes.
     */
    private final class Tap {
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

        Tap(Channel channel) {
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
                    connections.later(
                            () -> connections.executeIfPossible(this::acknowledgeAll), LONGEST_UNACKNOWLEDGED);
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
}
