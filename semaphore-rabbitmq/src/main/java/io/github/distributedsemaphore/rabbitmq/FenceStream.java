package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.Failures;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection.ProbeFailedException;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Epochs from a stream of the semaphore: a client that needs one publishes a message and reads which offset it got. Offsets rise
 * with each message and are never given twice while the stream is there, also when the broker drops old messages. See the
 * RabbitMQ documentation, "Streams".
 *
 * <p>An epoch is drawn while the hold is declared, and counts only if the hold is found to be still there afterwards: so
 * a later holder of the slot has drawn later. Publishes, so it lives on the probe connection, and on a channel of its own.
 */
final class FenceStream implements AutoCloseable {
    /** So many epochs, from the one drawn on, belong to the client that drew it. */
    static final long RUN = 1_024;

    private static final long RETRY_NANOS = 50_000_000;

    private final RabbitConnections connections;
    private final ProbeConnection probes;
    private final QueueNames names;
    private volatile @Nullable FenceChannel channel;
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
                if (!(isStarting(e) || isCutOff(e)) || budget.isSpent()) {
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
            FenceChannel unused = send(line(patience), patience);
        } catch (IOException | ShutdownSignalException | ProbeFailedException | SemaphoreException e) {
            // The drawing call meets it again, and reports it.
            close();
        }
    }

    private long drawOnce(Deadline patience) throws IOException, ProbeFailedException {
        boolean done = false;
        try {
            ProbeConnection.Line line = line(patience);
            FenceChannel present = channel;
            FenceChannel used = present != null && present.isSent() ? present : send(line, patience);
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
            throw new IncompatibleStateException(
                    names.subject()
                            + " has no stream for fences: somebody deleted it. Call create with the same limit, which makes it",
                    e);
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

    /** Whether the connection ended without a word of the broker about this: the link broke, or another call had no answer on it. */
    private static boolean isCutOff(Exception e) {
        ShutdownSignalException signal = Failures.signal(e);
        return signal != null
                && signal.isHardError()
                && (signal.isInitiatedByApplication() || !(signal.getReason() instanceof AMQP.Connection.Close));
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

    private FenceChannel send(ProbeConnection.Line line, Deadline patience) throws IOException, ProbeFailedException {
        FenceChannel present = channel;
        if (present != null && present.begin()) {
            present.send();
            return present;
        }
        FenceChannel resting = present != null && present.leavesRest() ? present : null;
        if (resting == null) {
            close();
        }
        // One that nobody has would never stop to read the epochs of all clients.
        FenceChannel used = connections.call(
                () -> started(resting == null ? new FenceChannel(connections, names, line.newChannel()) : resting),
                FenceChannel::close,
                patience);
        channel = used;
        used.send();
        return used;
    }

    private static FenceChannel started(FenceChannel channel) throws IOException {
        try {
            channel.start();
            return channel;
        } catch (IOException | ShutdownSignalException e) {
            channel.close();
            throw e;
        }
    }

    /** Ends the channel, which the broker has to confirm, so that it may block: not here. */
    @Override
    public void close() {
        FenceChannel present = channel;
        channel = null;
        if (present != null) {
            connections.execute(present::close);
        }
    }
}
