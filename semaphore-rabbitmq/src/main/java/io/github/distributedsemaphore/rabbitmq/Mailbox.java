package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.rabbitmq.ProbeChannel.ProbeFailedException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a client gets messages from others: that a permit of a semaphore was released, and the question which clients hold one. An
 * exclusive queue on the probe connection, bound to one exchange for all. Nothing depends on these messages: waiters ask
 * on a timer as well, and a holder that does not answer is shown without its name. So what takes round trips is done in
 * the background, one thing after the other, and no call waits for it for long. Thread-safe.
 */
final class Mailbox implements AutoCloseable {
    static final String EXCHANGE = QueueNames.PREFIX + "events";

    private static final Logger LOG = LoggerFactory.getLogger(Mailbox.class);
    private static final String RELEASED = "released:";
    private static final String HOLDERS = "holders:";
    static final String WAITING = "waiting:";

    /** For how long a call waits until it listens, or until its message is sent. */
    static final Duration PATIENCE = Duration.ofMillis(500);

    /** A waiting client says so each time that it asks, which is twice as often. */
    private static final long WAITING_NANOS = 1_000_000_000;

    /** For so long nobody repeats that somebody waits. Holders forget it after {@link #WAITING_NANOS} only. */
    private static final long SAID_NANOS = 250_000_000;

    private final RabbitConnections connections;
    private final ProbeConnection probes;
    private final HolderInfo self;
    private final ReentrantLock lock = new ReentrantLock();
    private final ConcurrentMap<String, List<Runnable>> hints = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, List<Supplier<List<HeldSlots.Entry>>>> holders = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, RollCall> calls = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, Long> waiters = new ConcurrentHashMap<>();
    /** When any client said last that it waits, this one included, if nothing was released since. */
    private final ConcurrentMap<String, Long> unanswered = new ConcurrentHashMap<>();

    private CompletableFuture<?> last = CompletableFuture.completedFuture("");
    private volatile @Nullable Post post;
    private volatile boolean closed;

    Mailbox(RabbitConnections connections, ProbeConnection probes) {
        this.connections = connections;
        this.probes = probes;
        this.self = connections.settings().self();
    }

    /**
     * The queue as it is now.
     *
     * @param line the connection
     * @param in the channel that consumes; bindings are made on it too
     * @param out the channel that publishes
     * @param queue the queue
     * @param events whether it was tried to have the broker's events sent to it
     * @param sending held while a message is sent
     */
    private record Post(
            ProbeConnection.Line line,
            Channel in,
            Channel out,
            String queue,
            AtomicBoolean events,
            ReentrantLock sending) {
        boolean isOpen() {
            return line.isOpen() && in.isOpen() && out.isOpen();
        }

        /** One message after the other: a channel is not for several threads. */
        void publish(String exchange, String key, AMQP.BasicProperties properties, byte[] body) throws IOException {
            sending.lock();
            try {
                out.basicPublish(exchange, key, properties, body);
            } finally {
                sending.unlock();
            }
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

    /** Opens it if it is not open, and binds whatever is listened to. Only {@link #later}. */
    private void open() {
        try {
            if (!closed && !isOpen()) {
                post = connect();
            }
        } catch (IOException | ShutdownSignalException | ProbeFailedException | SemaphoreException e) {
            LOG.info("No messages from other clients now, so waiters ask on a timer: {}", e.toString());
        }
    }

    private Post connect() throws IOException, ProbeFailedException {
        ProbeConnection.Line line = probes.line(
                Deadline.after(System.nanoTime(), connections.settings().timeout()));
        if (line.isBlocked()) {
            throw new ProbeFailedException("the broker takes no messages now", null);
        }
        List<Channel> channels = line.newChannels(2);
        try {
            return connect(line, channels.get(0), channels.get(1));
        } catch (IOException | ShutdownSignalException e) {
            if (line.isOpen() && Failures.signal(e) == null) {
                // It did not answer, and everybody else would wait for it as well.
                probes.forget(line);
            }
            channels.forEach(HolderConnection::abort);
            throw e;
        }
    }

    private Post connect(ProbeConnection.Line line, Channel in, Channel out) throws IOException {
        in.exchangeDeclare(EXCHANGE, "direct", true);
        String queue = QueueNames.PREFIX + "client:" + UUID.randomUUID();
        in.queueDeclare(queue, false, true, true, Map.of());
        for (String semaphore : hints.keySet()) {
            in.queueBind(queue, EXCHANGE, RELEASED + semaphore);
        }
        for (String semaphore : holders.keySet()) {
            in.queueBind(queue, EXCHANGE, HOLDERS + semaphore);
            in.queueBind(queue, EXCHANGE, WAITING + semaphore);
        }
        in.basicConsume(queue, true, (tag, message) -> received(message), tag -> {});
        Post opened = new Post(line, in, out, queue, new AtomicBoolean(), new ReentrantLock());
        if (!hints.isEmpty()) {
            listenToBroker(opened);
        }
        return opened;
    }

    /** Only clients that wait do so: they hear of each queue that is deleted at the broker. */
    private static void listenToBroker(Post post) {
        if (post.events.compareAndSet(false, true)) {
            BrokerEvents.sendTo(post.line, post.queue);
        }
    }

    private void received(Delivery message) {
        String key = message.getEnvelope().getRoutingKey();
        if (key.equals(BrokerEvents.DELETED)) {
            BrokerEvents.semaphore(message).ifPresent(this::released);
        } else if (key.startsWith(RELEASED)) {
            released(key.substring(RELEASED.length()));
        } else if (key.startsWith(WAITING)) {
            Post present = post;
            String semaphore = key.substring(WAITING.length());
            unanswered.put(semaphore, System.nanoTime());
            if (present != null && !present.queue.equals(message.getProperties().getReplyTo())) {
                waiters.put(semaphore, System.nanoTime());
            }
        } else if (key.startsWith(HOLDERS)) {
            for (Supplier<List<HeldSlots.Entry>> holder :
                    holders.getOrDefault(key.substring(HOLDERS.length()), List.of())) {
                answer(message, holder.get());
            }
        } else {
            RollCall call = calls.get(String.valueOf(message.getProperties().getCorrelationId()));
            if (call != null) {
                call.answered(message.getBody());
            }
        }
    }

    private void released(String semaphore) {
        unanswered.remove(semaphore);
        hints.getOrDefault(semaphore, List.of()).forEach(Runnable::run);
    }

    private void answer(Delivery question, List<HeldSlots.Entry> slots) {
        String replyTo = question.getProperties().getReplyTo();
        if (replyTo != null && !slots.isEmpty()) {
            publish("", replyTo, question.getProperties().getCorrelationId(), null, RollCall.write(self, slots));
        }
    }

    /** Sends it, or leaves it out where messages cannot be sent now. Does not block: see the room for what is sent. */
    private void publish(String exchange, String key, String correlation, @Nullable String replyTo, byte[] body) {
        try {
            Post present = post;
            if (present != null && isOpen()) {
                AMQP.BasicProperties properties = new AMQP.BasicProperties.Builder()
                        .correlationId(correlation)
                        .replyTo(replyTo)
                        .build();
                present.publish(exchange, key, properties, body);
            }
        } catch (IOException | ShutdownSignalException e) {
            LOG.debug("a message to other clients could not be sent", e);
        }
    }

    /** Tells the waiters of all clients that the semaphore changed, also if this client has sent no message before. */
    void tellChanged(String semaphore, CallBudget budget) {
        CompletableFuture<?> told = later(() -> {
            open();
            tellReleased(semaphore);
        });
        await(told, budget.patience(PATIENCE));
    }

    /** Tells the waiters of all clients that something became free. */
    void tellReleased(String semaphore) {
        unanswered.remove(semaphore);
        publish(EXCHANGE, RELEASED + semaphore, "", null, new byte[0]);
    }

    /**
     * Tells the holders in other clients that somebody waits, so that they leave it a turn, unless that was just said: all clients of the
     * semaphore get each of these messages, so a hundred that wait would send each other thousands a second.
     */
    void tellWaiting(String semaphore) {
        Post present = post;
        Long said = unanswered.get(semaphore);
        if (present != null && (said == null || System.nanoTime() - said > SAID_NANOS)) {
            publish(EXCHANGE, WAITING + semaphore, "", present.queue, new byte[0]);
        }
    }

    /** Whether another client said so lately; true also if nothing can be heard. */
    boolean isAnyoneWaiting(String semaphore) {
        return !isOpen() || lastWaiter(semaphore).isPresent();
    }

    /** When somebody said so last, by {@link System#nanoTime}; empty if that was long ago. */
    OptionalLong lastWaiter(String semaphore) {
        Long heard = waiters.get(semaphore);
        return heard != null && System.nanoTime() - heard < WAITING_NANOS
                ? OptionalLong.of(heard)
                : OptionalLong.empty();
    }

    /** Asks the holders of a semaphore to describe themselves; returns when all have answered, or a while later. */
    RollCall callRoll(String semaphore, int expected, CallBudget budget) {
        RollCall call = new RollCall(expected);
        await(later(this::open), budget.patience(PATIENCE));
        Post present = post;
        if (present == null || !isOpen()) {
            return call;
        }
        String correlation = UUID.randomUUID().toString();
        calls.put(correlation, call);
        try {
            publish(EXCHANGE, HOLDERS + semaphore, correlation, present.queue, new byte[0]);
            call.await(budget.patience(RollCall.WAIT));
            return call;
        } finally {
            calls.remove(correlation);
        }
    }

    /** Answers for a session that may hold permits, until closed. Bound when the mailbox is opened next. */
    BackendSession.Watch answerRollCalls(String semaphore, Supplier<List<HeldSlots.Entry>> slots) {
        add(holders, semaphore, slots);
        return () -> remove(holders, semaphore, slots);
    }

    /** Listens for releases, until closed. Gives a hint when it listens, should that take longer than the budget has time. */
    BackendSession.Watch watch(String semaphore, Runnable hint, CallBudget budget) {
        // Of a client that did not wait it is not known what was released since.
        unanswered.remove(semaphore);
        add(hints, semaphore, hint);
        CompletableFuture<?> listening = later(() -> {
            bind(RELEASED + semaphore);
            Post present = post;
            if (present != null && present.isOpen()) {
                listenToBroker(present);
            }
        });
        await(listening, budget.patience(PATIENCE));
        if (!listening.isDone()) {
            CompletableFuture<?> unused = listening.thenRun(hint);
        }
        return () -> {
            remove(hints, semaphore, hint);
            CompletableFuture<?> unused = later(() -> unbindUnlessWatched(semaphore));
        };
    }

    private void unbindUnlessWatched(String semaphore) {
        if (!hints.containsKey(semaphore)) {
            onPost(
                    RELEASED + semaphore,
                    (channel, queue) -> channel.queueUnbind(queue, EXCHANGE, RELEASED + semaphore));
        }
    }

    /** Receives the questions about a semaphore, when what this returns is done. */
    CompletableFuture<?> listenForHolders(String semaphore) {
        return later(() -> {
            bind(HOLDERS + semaphore, WAITING + semaphore);
        });
    }

    /** Opening binds as well, so that this is for a mailbox that was open. */
    private void bind(String... keys) {
        if (!isOpen()) {
            open();
            return;
        }
        for (String key : keys) {
            onPost(key, (channel, queue) -> channel.queueBind(queue, EXCHANGE, key));
        }
    }

    @FunctionalInterface
    private interface Binding {
        void on(Channel channel, String queue) throws IOException;
    }

    private void onPost(String key, Binding binding) {
        Post present = post;
        try {
            if (present != null && isOpen()) {
                binding.on(present.in, present.queue);
            }
        } catch (IOException | ShutdownSignalException e) {
            LOG.info("Messages '{}' of other clients do not reach this one now: {}", key, e.toString());
            if (present != null && present.isOpen()) {
                probes.forget(present.line);
            }
        }
    }

    private static <T> void add(ConcurrentMap<String, List<T>> map, String key, T value) {
        map.compute(key, (k, values) -> {
            List<T> some = values == null ? new CopyOnWriteArrayList<>() : values;
            some.add(value);
            return some;
        });
    }

    private static <T> void remove(ConcurrentMap<String, List<T>> map, String key, T value) {
        map.computeIfPresent(key, (k, values) -> {
            values.remove(value);
            return values.isEmpty() ? null : values;
        });
    }

    @Override
    public void close() {
        closed = true;
        post = null;
    }
}
