package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a client gets messages from others: that a permit of a semaphore was released, and the question who holds one. An
 * exclusive queue on the probe connection, bound to one exchange for all. Nothing depends on these messages: waiters ask
 * on a timer as well, and a holder that does not answer is shown without its name. Thread-safe.
 */
final class Mailbox implements AutoCloseable {
    static final String EXCHANGE = QueueNames.PREFIX + "events";

    private static final Logger LOG = LoggerFactory.getLogger(Mailbox.class);
    private static final String RELEASED = "released:";
    private static final String HOLDERS = "holders:";
    private static final String WAITING = "waiting:";
    private static final String ANSWER = "answer";

    /** Who waits says so each time that it asks, which is twice as often. */
    private static final long WAITING_NANOS = 1_000_000_000;

    private final ProbeConnection probes;
    private final HolderInfo self;
    private final boolean fencing;
    private final ReentrantLock lock = new ReentrantLock();
    private final ConcurrentMap<String, List<Runnable>> hints = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, List<Supplier<List<HeldSlots.Entry>>>> holders = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, RollCall> calls = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, Long> waiters = new ConcurrentHashMap<>();
    private volatile @Nullable Post post;
    private volatile boolean closed;

    Mailbox(ProbeConnection probes, RabbitSettings settings) {
        this.probes = probes;
        this.self = settings.self();
        this.fencing = settings.fencing();
    }

    /**
     * The queue as it is now.
     *
     * @param line the connection
     * @param in the channel that consumes; bindings are made on it too
     * @param out the channel that publishes
     * @param queue the queue
     * @param events whether it was tried to have the broker's events sent to it
     */
    private record Post(ProbeConnection.Line line, Channel in, Channel out, String queue, AtomicBoolean events) {
        boolean isOpen() {
            return line.isOpen() && in.isOpen() && out.isOpen();
        }
    }

    boolean isOpen() {
        Post present = post;
        return present != null && present.isOpen() && !present.line.isBlocked();
    }

    /** Opens it if it is not open, and binds whatever is listened to. */
    void open() {
        lock.lock();
        try {
            if (!closed && !isOpen()) {
                post = connect();
            }
        } catch (IOException | ShutdownSignalException | ProbeFailedException | SemaphoreException e) {
            LOG.info("No messages from other clients now, so waiters ask on a timer: {}", e.toString());
        } finally {
            lock.unlock();
        }
    }

    private Post connect() throws IOException, ProbeFailedException {
        ProbeConnection.Line line = probes.line();
        if (line.isBlocked()) {
            throw new ProbeFailedException("the broker takes no messages now", null);
        }
        Channel in = line.newChannel();
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
        Post opened = new Post(line, in, line.newChannel(), queue, new AtomicBoolean());
        if (!hints.isEmpty()) {
            listenToBroker(opened);
        }
        return opened;
    }

    /** Only those who wait do so: they are told of each queue that is deleted at the broker. */
    private static void listenToBroker(Post post) {
        if (post.events.compareAndSet(false, true)) {
            BrokerEvents.sendTo(post.line, post.queue);
        }
    }

    private void received(Delivery message) {
        String key = message.getEnvelope().getRoutingKey();
        if (key.equals(BrokerEvents.DELETED)) {
            BrokerEvents.semaphore(message)
                    .ifPresent(semaphore ->
                            hints.getOrDefault(semaphore, List.of()).forEach(Runnable::run));
        } else if (key.startsWith(RELEASED)) {
            hints.getOrDefault(key.substring(RELEASED.length()), List.of()).forEach(Runnable::run);
        } else if (key.startsWith(WAITING)) {
            Post present = post;
            String sender = message.getProperties().getReplyTo();
            if (present != null && !present.queue.equals(sender)) {
                waiters.put(key.substring(WAITING.length()), System.nanoTime());
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

    private void answer(Delivery question, List<HeldSlots.Entry> slots) {
        String replyTo = question.getProperties().getReplyTo();
        if (replyTo != null && !slots.isEmpty()) {
            publish("", replyTo, question.getProperties().getCorrelationId(), null, RollCall.write(self, slots));
        }
    }

    private void publish(String exchange, String key, String correlation, @Nullable String replyTo, byte[] body) {
        lock.lock();
        try {
            Post present = post;
            if (present != null && isOpen()) {
                AMQP.BasicProperties properties = new AMQP.BasicProperties.Builder()
                        .type(ANSWER)
                        .correlationId(correlation)
                        .replyTo(replyTo)
                        .build();
                present.out.basicPublish(exchange, key, properties, body);
            }
        } catch (IOException | ShutdownSignalException e) {
            LOG.debug("a message to other clients could not be sent", e);
        } finally {
            lock.unlock();
        }
    }

    /** Tells the waiters of all clients that something became free, or that the semaphore changed. */
    void tellReleased(String semaphore) {
        publish(EXCHANGE, RELEASED + semaphore, "", null, new byte[0]);
    }

    /** Tells the holders in other clients that somebody waits, so that they leave it a turn. */
    void tellWaiting(String semaphore) {
        Post present = post;
        if (present != null) {
            publish(EXCHANGE, WAITING + semaphore, "", present.queue, new byte[0]);
        }
    }

    /** Whether somebody said so lately; true also if nothing can be heard. */
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

    /** Asks the holders of a semaphore who they are; returns when all have answered, or a while later. */
    RollCall callRoll(String semaphore, int expected) {
        RollCall call = new RollCall(expected, fencing);
        open();
        Post present = post;
        if (present == null || !isOpen()) {
            return call;
        }
        String correlation = UUID.randomUUID().toString();
        calls.put(correlation, call);
        try {
            publish(EXCHANGE, HOLDERS + semaphore, correlation, present.queue, new byte[0]);
            call.await();
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

    /** Listens for releases, until closed. */
    BackendSession.Watch watch(String semaphore, Runnable hint) {
        add(hints, semaphore, hint);
        open();
        bind(RELEASED + semaphore);
        Post present = post;
        if (present != null && present.isOpen()) {
            listenToBroker(present);
        }
        return () -> {
            remove(hints, semaphore, hint);
            if (!hints.containsKey(semaphore)) {
                unbind(RELEASED + semaphore);
            }
        };
    }

    /** Receives the questions about a semaphore from now on. */
    void bindHolders(String semaphore) {
        open();
        bind(HOLDERS + semaphore);
        bind(WAITING + semaphore);
    }

    private void bind(String key) {
        onPost(key, (channel, queue) -> channel.queueBind(queue, EXCHANGE, key));
    }

    private void unbind(String key) {
        onPost(key, (channel, queue) -> channel.queueUnbind(queue, EXCHANGE, key));
    }

    @FunctionalInterface
    private interface Binding {
        void on(Channel channel, String queue) throws IOException;
    }

    private void onPost(String key, Binding binding) {
        lock.lock();
        try {
            Post present = post;
            if (present != null && isOpen()) {
                binding.on(present.in, present.queue);
            }
        } catch (IOException | ShutdownSignalException e) {
            LOG.info("Messages '{}' of other clients do not reach this one now: {}", key, e.toString());
        } finally {
            lock.unlock();
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
