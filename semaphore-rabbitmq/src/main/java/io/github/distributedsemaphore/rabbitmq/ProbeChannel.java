package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.Deadline;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Asks which queues exist by publishing to them, mandatory and with confirms, many at a time. A message that cannot be
 * routed comes back, and always before its confirmation. One probe at a time; the answers arrive on another thread.
 */
final class ProbeChannel {
    /** More at a time gain nothing: the broker then throttles the channel. */
    static final int MOST_AT_ONCE = 128;

    private static final byte[] EMPTY = {};

    private final Channel channel;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition progress = lock.newCondition();
    private boolean[] returned = {};
    private boolean[] confirmed = {};
    private int open;
    private long firstSequence;
    private @Nullable ShutdownSignalException closed;

    ProbeChannel(Channel channel) throws IOException {
        this.channel = channel;
        channel.addReturnListener(message -> returned(message.getProperties().getMessageId()));
        // A negative confirmation means that the message was routed and not stored, so the queue exists.
        channel.addConfirmListener(this::confirmed, this::confirmed);
        channel.addShutdownListener(this::closed);
        channel.confirmSelect();
    }

    boolean isOpen() {
        return channel.isOpen();
    }

    /** Sends probes of so many queues, at most {@link #MOST_AT_ONCE}. */
    void send(List<String> queues) throws ProbeFailedException {
        start(queues.size());
        try {
            for (int i = 0; i < queues.size(); i++) {
                AMQP.BasicProperties properties = new AMQP.BasicProperties.Builder()
                        .messageId(Integer.toString(i))
                        .deliveryMode(1)
                        .expiration("0")
                        .build();
                channel.basicPublish("", queues.get(i), true, properties, EMPTY);
            }
        } catch (IOException | ShutdownSignalException e) {
            throw new ProbeFailedException("a probe could not be sent: " + e, e);
        }
    }

    /** Waits for the answers to what was sent last, and adds them in that order. */
    void answers(Deadline end, List<Existence> found) throws ProbeFailedException {
        await(end);
        lock.lock();
        try {
            for (boolean absent : returned) {
                found.add(absent ? Existence.ABSENT : Existence.PRESENT);
            }
        } finally {
            lock.unlock();
        }
    }

    private void start(int size) {
        lock.lock();
        try {
            returned = new boolean[size];
            confirmed = new boolean[size];
            open = size;
            firstSequence = channel.getNextPublishSeqNo();
        } finally {
            lock.unlock();
        }
    }

    private void await(Deadline end) throws ProbeFailedException {
        long left = end.nanosFrom(System.nanoTime());
        boolean interrupted = false;
        lock.lock();
        try {
            while (open > 0) {
                if (closed != null) {
                    throw new ProbeFailedException("the channel was closed: " + closed.getMessage(), closed);
                }
                if (left <= 0) {
                    throw new ProbeFailedException(open + " probes were not confirmed in time", null);
                }
                try {
                    left = progress.awaitNanos(left);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void returned(@Nullable String index) {
        lock.lock();
        try {
            returned[Integer.parseInt(String.valueOf(index))] = true;
        } finally {
            lock.unlock();
        }
    }

    private void confirmed(long sequence, boolean multiple) {
        lock.lock();
        try {
            int last = (int) (sequence - firstSequence);
            int first = multiple ? 0 : last;
            for (int i = first; i <= last; i++) {
                open -= confirmed[i] ? 0 : 1;
            }
            Arrays.fill(confirmed, first, last + 1, true);
            if (open == 0) {
                progress.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** No confirmation comes any more: ends the waits for one. */
    private void closed(ShutdownSignalException signal) {
        lock.lock();
        try {
            closed = signal;
            progress.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Whether a queue exists. */
    enum Existence {
        /** It does: a message was routed to it. A negative confirmation says so too: routed, but not stored. */
        PRESENT,
        /** It does not. */
        ABSENT
    }

    /** Queues could not be probed by publishing: the broker takes no messages now, or did not confirm them in time. */
    static final class ProbeFailedException extends Exception {
        private static final long serialVersionUID = 1L;

        ProbeFailedException(String message, @Nullable Throwable cause) {
            super(message, cause);
        }
    }
}
