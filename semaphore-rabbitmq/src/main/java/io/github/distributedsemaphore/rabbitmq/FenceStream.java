package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.rabbitmq.ProbeConnection.ProbeFailedException;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Epochs from a stream of the semaphore: a client that needs one publishes a message and reads which offset it got. Offsets rise
 * with each message and are never given twice while the stream is there, also when the broker drops old messages. See the
 * RabbitMQ documentation, "Streams".
 *
 * <p>An epoch is drawn while the hold is declared, and counts only if the hold is found to be still there afterwards: so
 * a later holder of the slot has drawn later. Publishes, so it lives on the probe connection, and on channels of its own.
 */
final class FenceStream implements AutoCloseable {
    /** So many epochs, from the one drawn on, belong to the client that drew it. */
    static final long RUN = 1_024;

    private static final int UNACKNOWLEDGED = 256;
    private static final byte[] EMPTY = {};
    private static final long RETRY_NANOS = 50_000_000;

    private final RabbitConnections connections;
    private final ProbeConnection probes;
    private final QueueNames names;
    private volatile @Nullable Tap tap;

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
            open(budget.patience()).send();
        } catch (IOException | ShutdownSignalException | ProbeFailedException e) {
            // The drawing call meets it again, and reports it.
            close();
        }
    }

    private long drawOnce(Deadline patience) throws IOException, ProbeFailedException {
        boolean done = false;
        try {
            long offset = open(patience).draw(patience);
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
        if (signal == null || !(signal.getReason() instanceof AMQP.Channel.Close close)) {
            return e.toString();
        }
        if (close.getReplyCode() == AMQP.NOT_FOUND && close.getReplyText().contains("no queue")) {
            throw Failures.withoutFences(names.semaphore(), e);
        }
        if (close.getReplyCode() == AMQP.ACCESS_REFUSED) {
            throw Failures.denied(connections.settings(), names.fences(), close.getReplyText(), e);
        }
        return close.getReplyText();
    }

    /** After a start of the broker a stream takes a while until it is found; what is not there at all has been reported by now. */
    private static boolean isStarting(Exception e) {
        ShutdownSignalException signal = Failures.signal(e);
        return signal != null
                && signal.getReason() instanceof AMQP.Channel.Close close
                && (close.getReplyCode() == AMQP.NOT_FOUND
                        || close.getReplyText().contains("replica"));
    }

    private Tap open(Deadline patience) throws IOException, ProbeFailedException {
        ProbeConnection.Line line = probes.line(patience);
        if (line.isBlocked()) {
            throw new ProbeFailedException("the broker takes no messages now, and a fence needs one", null);
        }
        Tap present = tap;
        if (present == null || !present.isOpen()) {
            close();
            present = connections.call(() -> Tap.open(line, names.fences()), patience);
            tap = present;
        }
        return present;
    }

    /** Ends the channels, which the broker has to confirm, so that it may block: not here. */
    @Override
    public void close() {
        Tap present = tap;
        tap = null;
        if (present != null) {
            connections.execute(present::close);
        }
    }

    /** A reader at the end of the stream, and a writer. */
    private static final class Tap {
        private final String self = UUID.randomUUID().toString();
        private final Channel in;
        private final Channel out;
        private final String stream;
        private long drawn;
        private boolean sent;
        private volatile String awaited = "";
        private volatile CompletableFuture<Long> offset = new CompletableFuture<>();

        Tap(Channel in, Channel out, String stream) {
            this.in = in;
            this.out = out;
            this.stream = stream;
        }

        /** Opens both channels, or none. */
        static Tap open(ProbeConnection.Line line, String stream) throws IOException {
            List<Channel> channels = line.newChannels(2);
            Tap opened = new Tap(channels.get(0), channels.get(1), stream);
            try {
                opened.start();
                return opened;
            } catch (IOException | ShutdownSignalException e) {
                opened.close();
                throw e;
            }
        }

        private void start() throws IOException {
            in.addShutdownListener(signal -> fail("its reader was closed: " + signal.getMessage()));
            out.addShutdownListener(signal -> fail("its writer was closed: " + signal.getMessage()));
            out.addReturnListener(message -> fail("it is gone"));
            in.basicQos(UNACKNOWLEDGED);
            in.basicConsume(
                    stream,
                    false,
                    Map.of("x-stream-offset", "next"),
                    (tag, message) -> received(message),
                    tag -> abandon());
        }

        boolean isOpen() {
            return in.isOpen() && out.isOpen();
        }

        private void fail(String reason) {
            offset.completeExceptionally(new IOException("the stream of fences: " + reason));
        }

        /** The stream was deleted; one that is created again has a new reader. */
        private void abandon() {
            fail("it was deleted");
            close();
        }

        private void received(Delivery message) throws IOException {
            if (awaited.equals(message.getProperties().getMessageId())
                    && message.getProperties().getHeaders().get("x-stream-offset") instanceof Long number) {
                offset.complete(number);
            }
            in.basicAck(message.getEnvelope().getDeliveryTag(), false);
        }

        long draw(Deadline end) throws IOException {
            if (!sent) {
                send();
            }
            sent = false;
            return await(offset, end);
        }

        void send() throws IOException {
            drawn++;
            offset = new CompletableFuture<>();
            awaited = self + ":" + drawn;
            AMQP.BasicProperties properties = new AMQP.BasicProperties.Builder()
                    .messageId(awaited)
                    .deliveryMode(2)
                    .build();
            out.basicPublish("", stream, true, properties, EMPTY);
            sent = true;
        }

        private static long await(CompletableFuture<Long> answer, Deadline end) throws IOException {
            try {
                return InterruptShield.await(answer, end);
            } catch (ExecutionException | TimeoutException e) {
                throw new IOException("the stream of fences did not answer", e);
            }
        }

        void close() {
            HolderConnection.abort(in);
            HolderConnection.abort(out);
        }
    }
}
