package io.github.distributedsemaphore.rabbitmq.net;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Command;
import com.rabbitmq.client.Method;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection that holds exclusive queues. They live as long as it does and are nobody else's, whatever channel declared
 * them. It never publishes: under a memory alarm the broker stops to read from a connection that does, and its queues could
 * then neither be checked nor deleted.
 *
 * <p>Every request is bounded in time. One that may have changed something and has no answer costs the connection: only that
 * makes sure that no queue is left behind that nobody knows of. A look changes nothing, so one that has no answer costs no more
 * than the channel that it was sent on. Thread-safe.
 */
public final class HolderConnection {
    private static final Logger LOG = LoggerFactory.getLogger(HolderConnection.class);

    /** Beside the expiration that each probe has: what is routed to such a queue is not kept. */
    private static final Map<String, Object> KEEPS_NOTHING = Map.of("x-max-length", 0);

    /** Of 1,000 holds that are looked at over a link of 10 ms this makes 0.6 s; more are seldom faster. */
    private static final int MOST_AT_ONCE = 16;

    private final RabbitConnections connections;
    private final RabbitConnections.Opened opened;
    private final Consumer<String> onLost;
    private final AtomicBoolean over = new AtomicBoolean();
    private final Deque<Channel> idle = new ConcurrentLinkedDeque<>();
    private final AtomicInteger unanswered = new AtomicInteger();

    /**
     * Connects. Tells once that the connection is gone, unless by {@link #close}.
     *
     * @param end how long to wait for the connection
     */
    public HolderConnection(RabbitConnections connections, String purpose, Consumer<String> onLost, Deadline end) {
        this.connections = connections;
        this.onLost = onLost;
        this.opened = connections.open(purpose, end);
        opened.connection().addShutdownListener(signal -> lost("the connection is gone: " + signal.getMessage()));
    }

    /** The interval that broker and client agreed on, in seconds. */
    public int heartbeat() {
        return opened.connection().getHeartbeat();
    }

    /** Declares an exclusive queue: a hold, or the mutex. OK also if this connection has it already. */
    public QueueAnswer declareExclusive(String queue, Deadline end) throws LinkLostException {
        return askAll(List.of(queue), HolderConnection::exclusive, false, end).get(0);
    }

    /**
     * Declares exclusive queues, all of them even if one is refused by an exception.
     *
     * @param answers gets the answers in this order, with null for such a refusal; also if this throws
     */
    public void declareExclusive(List<String> queues, List<@Nullable QueueAnswer> answers, Deadline end)
            throws LinkLostException {
        askAll(queues, HolderConnection::exclusive, false, answers, end);
    }

    private static Method exclusive(String queue) {
        return new AMQP.Queue.Declare.Builder()
                .queue(queue)
                .exclusive()
                .arguments(KEEPS_NOTHING)
                .build();
    }

    /** Makes a queue that outlives its connections, or finds it as it should be. */
    public QueueAnswer declareDurable(String queue, Map<String, Object> arguments, Deadline end)
            throws LinkLostException {
        Method declare = new AMQP.Queue.Declare.Builder()
                .queue(queue)
                .durable()
                .arguments(arguments)
                .build();
        return askAll(List.of(queue), same -> declare, false, end).get(0);
    }

    /**
     * Tells whether a queue is there and not exclusive to another connection.
     *
     * @throws BackendUnavailableException if there is no answer; the connection goes on
     */
    public QueueAnswer look(String queue, Deadline end) throws LinkLostException {
        return look(List.of(queue), end).get(0);
    }

    /** The same for several. */
    public List<QueueAnswer> look(List<String> queues, Deadline end) throws LinkLostException {
        return askAll(queues, HolderConnection::passive, true, end);
    }

    private static Method passive(String queue) {
        return new AMQP.Queue.Declare.Builder().queue(queue).passive().build();
    }

    /** Deletes a queue. When it returns OK the queue is gone; it may have been gone before. */
    public QueueAnswer delete(String queue, Deadline end) throws LinkLostException {
        return delete(List.of(queue), end).get(0);
    }

    /** Deletes queues, in no order, all of them even if one is refused by an exception. */
    public List<QueueAnswer> delete(List<String> queues, Deadline end) throws LinkLostException {
        return askAll(
                queues, queue -> new AMQP.Queue.Delete.Builder().queue(queue).build(), false, end);
    }

    /**
     * Changes queues one after the other, without a round trip for each: the broker does what comes on one channel in order,
     * and nothing after a request that it refuses. So if this fails, the first of them may be changed and the others not.
     *
     * @param changes requests of which the broker does not answer those that it fulfils
     * @param last a queue to look at in the end, whose answer speaks for all
     */
    public QueueAnswer changeInOrder(List<Method> changes, String last, Deadline end) throws LinkLostException {
        return answer(send(last, false, changes, passive(last)), end);
    }

    /**
     * Asks about queues, several at a time. Each request has a channel of its own: the client library lets a request wait for
     * the answer to the one before, and the broker closes the channel of one that it refuses.
     */
    private void askAll(
            List<String> queues,
            Function<String, Method> request,
            boolean looks,
            List<@Nullable QueueAnswer> answers,
            Deadline end)
            throws LinkLostException {
        SemaphoreException refusal = null;
        for (int from = 0; from < queues.size() && !(looks && refusal != null); from += MOST_AT_ONCE) {
            List<Asked> asked = queues.subList(from, Math.min(queues.size(), from + MOST_AT_ONCE)).stream()
                    .map(queue -> send(queue, looks, List.of(), request.apply(queue)))
                    .toList();
            for (Asked one : asked) {
                try {
                    answers.add(answer(one, end));
                } catch (SemaphoreException e) {
                    answers.add(null);
                    refusal = e;
                }
            }
        }
        if (refusal != null) {
            throw refusal;
        }
    }

    private List<QueueAnswer> askAll(List<String> queues, Function<String, Method> request, boolean looks, Deadline end)
            throws LinkLostException {
        List<@Nullable QueueAnswer> answers = new ArrayList<>();
        askAll(queues, request, looks, answers, end);
        return answers.stream().map(Objects::requireNonNull).toList();
    }

    /** Asks how many consumers a queue has, without waiting for the answer. */
    public Asked askForConsumers(String queue) {
        return send(queue, true, List.of(), passive(queue));
    }

    /** Waits for that answer; empty if there is none by the end. */
    public OptionalInt consumers(Asked asked, Deadline end) {
        try {
            Method answer = InterruptShield.await(asked.answer, end).getMethod();
            idle.push(asked.channel.join());
            return OptionalInt.of(((AMQP.Queue.DeclareOk) answer).getConsumerCount());
        } catch (ExecutionException | TimeoutException e) {
            abandon(asked);
            return OptionalInt.empty();
        }
    }

    /** A request on its way, and whether it only looks. */
    public record Asked(
            String queue, boolean looks, CompletableFuture<Channel> channel, CompletableFuture<Command> answer) {}

    /**
     * A late answer finds nobody. The channel is closed when it is there, and not before: the client library does not wait for the
     * broker's word for long, and then gives the channel's number to the next one. The broker ends a connection that opens
     * a channel which it still works on.
     */
    private void abandon(Asked asked) {
        unanswered.incrementAndGet();
        CompletableFuture<?> unused = asked.answer
                .whenComplete((answer, failure) -> unanswered.decrementAndGet())
                .thenRunAsync(() -> abort(asked.channel.join()), connections::execute);
    }

    /** Whether so many looks that nobody waits for any more have channels of their own that further ones could use up the rest. */
    boolean hasManyUnanswered() {
        return unanswered.get() >= MOST_AT_ONCE;
    }

    /** Sends a request, and before it others on the same channel that the broker does not answer. */
    private Asked send(String queue, boolean looks, List<Method> unanswered, Method request) {
        CompletableFuture<Channel> channel = borrow();
        return new Asked(queue, looks, channel, channel.thenCompose(used -> {
            try {
                for (Method first : unanswered) {
                    used.asyncRpc(first);
                }
                return used.asyncCompletableRpc(request);
            } catch (IOException | ShutdownSignalException e) {
                return CompletableFuture.failedFuture(e);
            }
        }));
    }

    private QueueAnswer answer(Asked asked, Deadline end) throws LinkLostException {
        try {
            InterruptShield.await(asked.answer, end);
            idle.push(asked.channel.join());
            return QueueAnswer.OK;
        } catch (ExecutionException | TimeoutException e) {
            return refused(asked, e);
        }
    }

    /** A channel that nobody uses, or a new one, for which the library blocks. */
    private CompletableFuture<Channel> borrow() {
        for (Channel channel = idle.poll(); channel != null; channel = idle.poll()) {
            if (channel.isOpen()) {
                return CompletableFuture.completedFuture(channel);
            }
        }
        return CompletableFuture.supplyAsync(this::newChannel, connections::execute);
    }

    private Channel newChannel() {
        try {
            Channel channel = opened.connection().createChannel();
            if (channel == null) {
                throw Failures.channelLimit(connections.settings(), null);
            }
            return channel;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A channel for what can be done without; null if none is to be had by the end. */
    @Nullable
    public Channel openSpare(Deadline end) {
        try {
            return connections.call(this::newChannel, HolderConnection::abort, end);
        } catch (IOException | SemaphoreException e) {
            LOG.debug("no spare channel", e);
            return null;
        }
    }

    /** Ends a spare channel. May block while it has an open request. */
    public static void abort(Channel spare) {
        try {
            spare.abort();
        } catch (IOException | ShutdownSignalException e) {
            LOG.debug("a spare channel did not close in order", e);
        }
    }

    /** The broker answers a request that it refuses by closing the channel, with the reason. */
    private QueueAnswer refused(Asked asked, Exception e) throws LinkLostException {
        String queue = asked.queue;
        if (e.getCause() instanceof SemaphoreException refusal) {
            throw refusal;
        }
        ShutdownSignalException signal = Failures.signal(e);
        // A request that is being written when the broker ends the connection finds its socket closed.
        if (Failures.isNotAllowed(signal == null ? opened.connection().getCloseReason() : signal)) {
            drop("the broker ended the connection: " + e);
            throw Failures.channelLimit(connections.settings(), e);
        }
        if (signal == null && asked.looks && isOpen()) {
            abandon(asked);
            throw Failures.unavailable(connections.settings() + ": a look at '" + queue + "' had no answer: " + e, e);
        }
        if (signal == null || !(signal.getReason() instanceof AMQP.Channel.Close close)) {
            throw lose("a request about '" + queue + "' had no answer: " + e, e);
        }
        String text = close.getReplyText();
        return switch (close.getReplyCode()) {
            case AMQP.NOT_FOUND -> Failures.isAbsent(text) ? QueueAnswer.ABSENT : QueueAnswer.DOWN;
            case AMQP.RESOURCE_LOCKED -> QueueAnswer.LOCKED;
            case AMQP.ACCESS_REFUSED -> throw Failures.denied(connections.settings(), queue, text, e);
            case AMQP.PRECONDITION_FAILED -> throw Failures.inequivalent(connections.settings(), queue, text, e);
            default -> throw lose("a request about '" + queue + "' was refused: " + text, e);
        };
    }

    private LinkLostException lose(String reason, Exception cause) {
        if (isOpen()) {
            drop(reason);
        } else {
            // Not to be dropped: the broker may be deleting what it held, and its word on that is waited for.
            lost(reason);
        }
        return new LinkLostException(connections.settings() + ": " + reason, cause);
    }

    public boolean isOpen() {
        return !over.get() && opened.connection().isOpen();
    }

    /** Ends the connection without a word, as if the process had died. Does not block. */
    public void drop(String reason) {
        // First, or the end of the socket may tell a reason of its own.
        boolean first = over.compareAndSet(false, true);
        connections.execute(opened::drop);
        if (first) {
            onLost.accept(reason);
        }
    }

    private void lost(String reason) {
        if (over.compareAndSet(false, true)) {
            onLost.accept(reason);
        }
    }

    /** Ends the connection; when it returns, what it held is free, unless the broker did not answer by the end. */
    public void close(Deadline end) {
        if (over.compareAndSet(false, true)) {
            opened.close(end.remaining().toMillis());
        }
    }

    /** A connection is gone or was dropped, and with it every exclusive queue that it had declared. */
    public static final class LinkLostException extends Exception {
        private static final long serialVersionUID = 1L;

        LinkLostException(String message, Throwable cause) {
            super(message, cause);
        }
    }

    /** What the broker says to a request about one queue. */
    public enum QueueAnswer {
        /** Done; or it is there and not somebody else's. */
        OK,
        /** There is none (404). */
        ABSENT,
        /** It is exclusive to another connection, or it is there and not exclusive (405). */
        LOCKED,
        /** It is there and cannot be used, as the node of the cluster that stores it is down (404 with such a reason). */
        DOWN
    }
}
