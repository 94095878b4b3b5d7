package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.Return;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.Failures;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection.ProbeFailedException;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * What a client says to others, and what it hears from all of them: that the limit of a semaphore changed, and the question which
 * clients hold permits. An exclusive queue on the probe connection, bound to one exchange for all. Nothing depends on these messages,
 * so what takes round trips is done in the background, one thing after the other, and no call waits for it for long. Thread-safe.
 */
final class Mailbox implements AutoCloseable {
    static final String EXCHANGE = QueueNames.PREFIX + "events";

    /** For how long a call waits until it listens, or until its message is sent. */
    static final Duration PATIENCE = Duration.ofMillis(500);

    /** So often at most it is opened again. */
    private static final Duration AGAIN = Duration.ofSeconds(1);

    private static final Logger LOG = LoggerFactory.getLogger(Mailbox.class);

    private static final String CHANGED = "changed";
    static final String ROLL_CALL = "roll-call";
    private static final String HOPS = "hops";

    /** Where the plugin rabbitmq_event_exchange, if it is enabled, says that a queue was deleted, also with its connection. */
    private static final String BROKER_EXCHANGE = "amq.rabbitmq.event";

    private static final String QUEUE_DELETED = "queue.deleted";
    private static final byte[] EMPTY = {};

    private final RabbitConnections connections;
    private final ProbeConnection probes;
    private final HolderInfo self;
    private final ReentrantLock lock = new ReentrantLock();
    private final ReentrantLock sending = new ReentrantLock();
    private final ConcurrentMap<String, Member> members = new ConcurrentHashMap<>();

    private CompletableFuture<?> last = CompletableFuture.completedFuture("");
    private volatile @Nullable Post post;
    private volatile boolean closed;
    private volatile boolean refused;
    private volatile Deadline nextAttempt = Deadline.at(System.nanoTime());

    /** Whether a binding may be missing, as the broker took no messages when it was asked for. */
    private volatile boolean unbound;

    /** The connection on which the broker's events were refused. */
    private volatile ProbeConnection.@Nullable Line withoutEvents;

    Mailbox(RabbitConnections connections, ProbeConnection probes) {
        this.connections = connections;
        this.probes = probes;
        this.self = connections.settings().self();
    }

    /** This client's session at a semaphore: what it holds, and its callers that wait. */
    record Member(HeldSlots held, Waiters waiters) {}

    /**
     * The queue as it is now.
     *
     * @param line the connection
     * @param channel the channel that consumes, binds and publishes
     * @param queue the queue
     */
    private record Post(ProbeConnection.Line line, Channel channel, String queue) {
        boolean isOpen() {
            return line.isOpen() && channel.isOpen();
        }
    }

    boolean isOpen() {
        Post present = post;
        return present != null && present.isOpen() && !present.line.isBlocked();
    }

    /**
     * Does something after all that was to be done before, on a thread of its own: connecting and binding take round trips,
     * and nobody waits for them longer than it wants.
     */
    private CompletableFuture<?> later(Runnable work) {
        lock.lock();
        try {
            last = last.handleAsync(
                    (done, failed) -> {
                        work.run();
                        return "";
                    },
                    connections::execute);
            return last;
        } finally {
            lock.unlock();
        }
    }

    /** Waits for what was to be done, but not for long. */
    static void await(CompletableFuture<?> work, Deadline patience) {
        try {
            InterruptShield.await(work, patience);
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("goes on without waiting for the messages of other clients", e);
        }
    }

    /** Opens it if it was lost. Binds it for all members then, and if a binding is missing. Only {@link #later}. */
    private void open() {
        Post present = post;
        try {
            if (!closed && (present == null || !present.isOpen())) {
                post = connect();
                refused = false;
                unbound = false;
            } else if (present != null && unbound && isOpen()) {
                unbound = false;
                bind(present, members.keySet());
            }
        } catch (IOException | ShutdownSignalException | ProbeFailedException | SemaphoreException e) {
            // It is tried again and again.
            LOG.atLevel(refused ? Level.DEBUG : Level.INFO)
                    .log("No messages from other clients now, so waiters ask on a timer: {}", e.toString());
            refused = true;
        }
    }

    /** Opens it again in the background if its connection was lost, and binds it if that is possible again. Does not block. */
    void keepOpen() {
        Post present = post;
        long now = System.nanoTime();
        boolean incomplete = present == null || !present.isOpen() || (unbound && isOpen());
        if (!closed && incomplete && nextAttempt.isPast(now)) {
            nextAttempt = Deadline.after(now, AGAIN);
            CompletableFuture<?> unused = later(this::open);
        }
    }

    private Post connect() throws IOException, ProbeFailedException {
        ProbeConnection.Line line = probes.line(
                Deadline.after(System.nanoTime(), connections.settings().timeout()));
        if (line.isBlocked()) {
            throw new ProbeFailedException("the broker takes no messages now", null);
        }
        Channel channel = line.newChannel();
        // The same each time: if what follows is refused, nobody reads from it, and it stays as long as the connection.
        String queue = QueueNames.PREFIX + "client:" + line.id();
        try {
            channel.exchangeDeclare(EXCHANGE, "direct", true);
            channel.queueDeclare(queue, false, true, true, Map.of());
            for (String semaphore : members.keySet()) {
                channel.queueBind(queue, EXCHANGE, semaphore);
            }
            // Without its queue it hears nothing more: who finds it closed opens it again.
            channel.basicConsume(
                    queue,
                    true,
                    (tag, message) -> received(message),
                    tag -> connections.execute(() -> HolderConnection.abort(channel)));
            channel.addReturnListener(this::returned);
            return new Post(line, channel, queue);
        } catch (IOException | ShutdownSignalException e) {
            if (line.isOpen() && Failures.signal(e) == null) {
                // It did not answer, and everybody else would wait for it as well.
                probes.forget(line);
            }
            HolderConnection.abort(channel);
            throw e;
        }
    }

    private void received(Delivery message) {
        Member member = members.get(message.getEnvelope().getRoutingKey());
        if (member == null) {
            return;
        }
        AMQP.BasicProperties properties = message.getProperties();
        if (CHANGED.equals(properties.getType())) {
            member.waiters().lookNow();
        } else if (ROLL_CALL.equals(properties.getType()) && properties.getReplyTo() != null) {
            List<HeldSlots.Entry> entries = member.held().entries();
            if (!entries.isEmpty()) {
                boolean unused = publish(
                        "", properties.getReplyTo(), false, new AMQP.BasicProperties(), RollCall.write(self, entries));
            }
        }
    }

    private void returned(Return message) {
        Member member = members.get(message.getProperties().getCorrelationId());
        if (member != null) {
            member.waiters().nobodyWaits();
        }
    }

    /**
     * Sends it, or leaves it out where messages cannot be sent now. Does not block: see the room for what is sent.
     *
     * @return whether it was sent
     */
    private boolean publish(
            String exchange, String key, boolean mandatory, AMQP.BasicProperties properties, byte[] body) {
        Post present = post;
        if (present == null || !isOpen()) {
            keepOpen();
            return false;
        }
        // One message after the other, as the client library wants it. A binding that awaits its answer holds up none.
        sending.lock();
        try {
            present.channel.basicPublish(exchange, key, mandatory, properties, body);
            return true;
        } catch (IOException | ShutdownSignalException e) {
            LOG.debug("a message to other clients could not be sent", e);
            return false;
        } finally {
            sending.unlock();
        }
    }

    /** Says to all clients that the semaphore changed, also if this client has sent no message before. */
    void announceChange(String semaphore, CallBudget budget) {
        CompletableFuture<?> announced = later(() -> {
            open();
            boolean unused = publish(
                    EXCHANGE,
                    semaphore,
                    false,
                    new AMQP.BasicProperties.Builder().type(CHANGED).build(),
                    EMPTY);
        });
        await(announced, budget.patience(PATIENCE));
    }

    /** Says to one client that waits that a slot is free, see {@link Waiters}. Returns whether it was said. */
    boolean offer(QueueNames names, Waiters.Offer offer) {
        Post present = post;
        AMQP.BasicProperties properties = new AMQP.BasicProperties.Builder()
                .messageId(Integer.toString(offer.slot()))
                .headers(Map.of(HOPS, offer.hops()))
                .correlationId(names.encoded())
                .replyTo(present == null ? "" : present.queue)
                .build();
        return publish("", names.waiters(), offer.hops() == 0, properties, EMPTY);
    }

    /** What a message to a client that waits offers; null if it is nothing of this semaphore. */
    Waiters.@Nullable Offer offerIn(Delivery message, QueueNames names) {
        AMQP.BasicProperties properties = message.getProperties();
        Map<String, Object> headers = properties.getHeaders() == null ? Map.of() : properties.getHeaders();
        int slot = message.getEnvelope().getExchange().equals(BROKER_EXCHANGE)
                ? names.slotOfHold(String.valueOf(headers.get("name")))
                : QueueNames.slotIn(String.valueOf(properties.getMessageId()));
        int hops = headers.get(HOPS) instanceof Integer number ? number : 0;
        // Anybody may write to the queue, and what harms this client would go on to the next one.
        return slot == 0 ? null : new Waiters.Offer(slot, Math.max(0, Math.min(hops, Waiters.MOST_HOPS)));
    }

    /** Whether this client sent it last. */
    boolean isOwn(Delivery message) {
        Post present = post;
        return present != null && present.queue.equals(message.getProperties().getReplyTo());
    }

    /**
     * Has the broker's own events sent to those that wait, so that a holder's crash wakes one of them. Without the plugin, or the right
     * to read from it, nothing happens.
     */
    void listenToBroker(ProbeConnection.Line line, String waiters) {
        if (line == withoutEvents) {
            return;
        }
        try {
            // A refusal closes the channel, so it is one of its own.
            Channel channel = line.newChannel();
            try {
                channel.queueBind(waiters, BROKER_EXCHANGE, QUEUE_DELETED);
            } finally {
                HolderConnection.abort(channel);
            }
        } catch (IOException | ShutdownSignalException | SemaphoreException e) {
            LOG.debug("no events of the broker, so a crash is found out on a timer", e);
            withoutEvents = line;
        }
    }

    /** Asks the holders of a semaphore to describe themselves; returns when all have answered, or a while later. */
    RollCall callRoll(String semaphore, int expected, CallBudget budget) {
        RollCall call = new RollCall(expected);
        CompletableFuture<?> asked = later(() -> {
            open();
            Post present = post;
            try {
                if (present != null && isOpen()) {
                    call.ask(present.line, semaphore);
                }
            } catch (IOException | ShutdownSignalException | SemaphoreException e) {
                LOG.debug("holders cannot be asked", e);
            }
        });
        await(asked, budget.patience(PATIENCE));
        if (isOpen()) {
            call.await(budget.patience(RollCall.WAIT));
        }
        // The question may be asked late, and then it opens a channel that nobody waits for.
        CompletableFuture<?> unused = asked.whenCompleteAsync((done, failed) -> call.close(), connections::execute);
        return call;
    }

    /** Makes a session known, until closed. It hears of others when it was told to {@link #listen}. */
    BackendSession.Watch join(String semaphore, Member member) {
        members.put(semaphore, member);
        return () -> {
            if (members.remove(semaphore, member)) {
                CompletableFuture<?> unused = later(() -> unbind(semaphore));
            }
        };
    }

    /**
     * Or the broker would send all that is said about any semaphore that this client ever used. A session that was opened meanwhile is
     * a member before it asks to be bound, which is done after this. Only {@link #later}.
     */
    private void unbind(String semaphore) {
        Post present = post;
        if (present == null || !isOpen() || members.containsKey(semaphore)) {
            return;
        }
        try {
            present.channel.queueUnbind(present.queue, EXCHANGE, semaphore);
        } catch (IOException | ShutdownSignalException e) {
            LOG.debug("messages about '{}' still reach this client", semaphore, e);
            forgetSilent(present);
        }
    }

    /** A connection on which a request had no answer: everybody else would wait for it as well. */
    private void forgetSilent(Post present) {
        if (present.isOpen()) {
            probes.forget(present.line);
        }
    }

    /** Hears what others say about a semaphore, when what this returns is done, or later if the broker takes no messages now. */
    CompletableFuture<?> listen(String semaphore) {
        return later(() -> {
            Post present = post;
            if (present != null && isOpen()) {
                bind(present, List.of(semaphore));
            } else {
                unbound = true;
                open();
            }
        });
    }

    private void bind(Post present, Iterable<String> semaphores) {
        try {
            for (String semaphore : semaphores) {
                present.channel.queueBind(present.queue, EXCHANGE, semaphore);
            }
        } catch (IOException | ShutdownSignalException e) {
            LOG.info("Messages about {} do not reach this client now: {}", semaphores, e.toString());
            forgetSilent(present);
        }
    }

    @Override
    public void close() {
        closed = true;
        post = null;
    }
}
