package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Command;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.rabbitmq.net.Failures;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection.ProbeFailedException;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * The queue of all clients that wait at a semaphore: this client's subscription to it, and how many others have one. The queue is
 * there only while somebody waits. Thread-safe.
 */
final class WaitersQueue {
    private static final Logger LOG = LoggerFactory.getLogger(WaitersQueue.class);

    /**
     * Durable, because brokers give up queues that are neither that nor exclusive. A message that nobody takes is soon too old.
     * The queue ends with its last consumer, and by its expiration if there never was one.
     */
    private static final Map<String, Object> ARGUMENTS =
            Map.of("x-queue-type", "classic", "x-max-length", 1_000, "x-message-ttl", 1_000, "x-expires", 10_000);

    private static final int TRIES_TO_CONSUME = 3;

    /** So often at most it is tried to receive messages again. */
    private static final Duration AGAIN = Duration.ofSeconds(1);

    private final RabbitConnections connections;
    private final ProbeConnection probes;
    private final Mailbox mailbox;
    private final QueueNames names;
    private final Consumer<Delivery> receiver;
    private final ReentrantLock lock = new ReentrantLock();

    /** Whether this client is to be a consumer, which {@link #settle} brings about. */
    private volatile boolean wanted;

    /** Done when the channel is as it was wanted last. */
    private CompletableFuture<?> settled = CompletableFuture.completedFuture("");

    private Deadline next = Deadline.at(System.nanoTime());
    private volatile @Nullable Channel channel;
    private volatile boolean refused;

    /** How many other clients waited when this one last asked. */
    private volatile int others;

    /**
     * Prepares a subscription, and asks the broker for nothing.
     *
     * @param receiver gets the messages, on threads of the client library; does not block
     */
    WaitersQueue(
            RabbitConnections connections,
            ProbeConnection probes,
            Mailbox mailbox,
            QueueNames names,
            Consumer<Delivery> receiver) {
        this.connections = connections;
        this.probes = probes;
        this.mailbox = mailbox;
        this.names = names;
        this.receiver = receiver;
    }

    /** How many other clients waited when this one last asked. */
    int others() {
        return others;
    }

    /** Asks how many others wait now, if this client has a subscription. May block. */
    void count() {
        Channel present = channel;
        if (present == null) {
            return;
        }
        try {
            others = present.queueDeclarePassive(names.waiters()).getConsumerCount() - 1;
        } catch (IOException | ShutdownSignalException e) {
            // Usually because this client does not wait any more.
            LOG.debug("not known how many wait", e);
        }
    }

    /** Whether messages reach this client, and it can pass them on. */
    boolean isOpen() {
        Channel present = channel;
        return present != null && present.isOpen() && mailbox.isOpen();
    }

    /** Becomes a consumer, without waiting for the broker. What this returns is done when the messages come, or when that has failed. */
    CompletableFuture<?> subscribe() {
        return want(true);
    }

    /** Ceases to be a consumer, without waiting for the broker. */
    void unsubscribe() {
        CompletableFuture<?> unused = want(false);
    }

    /** Opens in the background what is wanted and not open any more, as after the end of the connection of the probes alone. */
    void renew() {
        lock.lock();
        try {
            if (wanted) {
                mailbox.keepOpen();
                if (settled.isDone() && next.isPast(System.nanoTime())) {
                    CompletableFuture<?> unused = want(true);
                }
            }
        } finally {
            lock.unlock();
        }
    }

    private CompletableFuture<?> want(boolean isSo) {
        lock.lock();
        try {
            wanted = isSo;
            next = Deadline.after(System.nanoTime(), AGAIN);
            settled = settled.handleAsync(
                    (done, failed) -> {
                        settle();
                        return "";
                    },
                    connections::execute);
            return settled;
        } finally {
            lock.unlock();
        }
    }

    /** Opens or closes, as is wanted by now. One after the other, so that there is one channel at most. */
    private void settle() {
        Channel present = channel;
        boolean open = present != null && present.isOpen();
        if (wanted && !open) {
            consume();
        } else if (!wanted && present != null) {
            channel = null;
            // Not here: a broker that is silent would hold up the next subscription.
            connections.execute(() -> HolderConnection.abort(present));
        }
    }

    private void consume() {
        try {
            ProbeConnection.Line line = probes.line(
                    Deadline.after(System.nanoTime(), connections.settings().timeout()));
            if (line.isBlocked()) {
                // A channel would have no answer, and nobody to close it when the broker has opened it in the end.
                throw new ProbeFailedException("the broker takes no messages now", null);
            }
            for (int i = 0; i < TRIES_TO_CONSUME && line.isOpen(); i++) {
                Channel opened = consume(line);
                if (opened != null) {
                    channel = opened;
                    refused = false;
                    mailbox.listenToBroker(line, names.waiters());
                    return;
                }
            }
        } catch (IOException | ShutdownSignalException | ProbeFailedException | SemaphoreException e) {
            LOG.debug("not notified of releases", e);
        }
        // It is tried again and again.
        LOG.atLevel(refused ? Level.DEBUG : Level.INFO)
                .log("Semaphore '{}': no messages about releases now, so waiters ask on a timer", names.semaphore());
        refused = true;
    }

    /** Returns null if the broker closed the channel, as it does when the queue has ended with its last consumer just now. */
    private @Nullable Channel consume(ProbeConnection.Line line) throws IOException, ProbeFailedException {
        try {
            Channel opened = line.newChannel();
            return consume(opened) ? opened : null;
        } catch (IOException e) {
            if (line.isOpen() && Failures.signal(e) == null) {
                // It did not answer, and what is left of the channel ends with it.
                probes.forget(line);
            }
            throw e;
        }
    }

    private boolean consume(Channel opened) throws IOException, ProbeFailedException {
        try {
            others = declare(opened).getConsumerCount();
            // Without its queue it hears nothing more: who finds it closed subscribes again.
            opened.basicConsume(
                    names.waiters(),
                    true,
                    (tag, message) -> receiver.accept(message),
                    tag -> connections.execute(() -> HolderConnection.abort(opened)));
            return true;
        } catch (IOException | ShutdownSignalException e) {
            LOG.debug("not notified of releases on this channel", e);
            if (Failures.signal(e) == null) {
                throw e;
            }
            return false;
        }
    }

    private AMQP.Queue.DeclareOk declare(Channel opened) throws IOException, ProbeFailedException {
        CompletableFuture<Command> declared = opened.asyncCompletableRpc(new AMQP.Queue.Declare.Builder()
                .queue(names.waiters())
                .durable()
                .autoDelete()
                .arguments(ARGUMENTS)
                .build());
        try {
            Duration timeout = connections.settings().timeout();
            Command answer = InterruptShield.await(declared, Deadline.after(System.nanoTime(), timeout));
            return (AMQP.Queue.DeclareOk) answer.getMethod();
        } catch (ExecutionException e) {
            throw new IOException("the queue of those that wait was refused", e);
        } catch (TimeoutException e) {
            // Its node may be silent, and not this connection. Closed as late as by HolderConnection.Asked.
            CompletableFuture<?> unused =
                    declared.thenRunAsync(() -> HolderConnection.abort(opened), connections::execute);
            throw new ProbeFailedException("no answer about the queue of those that wait", e);
        }
    }
}
