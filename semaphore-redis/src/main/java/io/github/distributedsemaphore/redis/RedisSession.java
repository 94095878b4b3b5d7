package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.redis.net.RedisChannels;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.redis.net.RedisErrorException;
import io.github.distributedsemaphore.redis.net.WireException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.time.Duration;
import java.util.Collection;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One client's presence at one semaphore: exchanges on a connection of its own, everything else on shared ones. */
final class RedisSession implements BackendSession {
    private static final Logger LOG = LoggerFactory.getLogger(RedisSession.class);

    /** After this the watch of a session that holds nothing ends, at the price of a round trip when it comes back. */
    private static final Duration IDLE = Duration.ofSeconds(2);

    /** A slot that was given to this session and that its callers have not taken by then goes back. */
    private static final Duration UNWANTED = Duration.ofMillis(3);

    private final RedisLayout layout;
    private final RedisConnections connections;
    private final RedisChannels channels;
    private final RedisLiveness liveness;
    private final RedisExchange exchange;
    private final SessionListener listener;
    private final Consumer<String> own = this::heard;
    private final Consumer<String> everybody = this::hint;
    private final AtomicBoolean ended = new AtomicBoolean();

    /**
     * What the engine calls one at a time needs this. A message about a slot and a timer compete for it, and only if it is free.
     * Not a lock: an exchange may end on another thread than it began on.
     */
    private final Semaphore lane = new Semaphore(1);

    private final AtomicBoolean lookPlanned = new AtomicBoolean();
    private final AtomicBoolean tidyPlanned = new AtomicBoolean();
    private final AtomicBoolean listening = new AtomicBoolean();
    private volatile @Nullable Runnable hintOfEngine;

    /** Whether no caller waits any more, and the place in the queue could not be given up. */
    private volatile boolean leaving;

    /** Not longer than an exchange may take, so that a look that is planned already comes before its time is over. */
    private final long lookMillis;

    private volatile long lastNanos;

    RedisSession(
            RedisLayout layout,
            RedisConnections connections,
            RedisChannels channels,
            RedisSettings settings,
            SessionListener listener) {
        this.layout = layout;
        this.connections = connections;
        this.channels = channels;
        this.listener = listener;
        this.liveness = new RedisLiveness(layout, connections, settings, () -> listener.execute(() -> tidy(true)));
        this.lookMillis = Math.min(IDLE.toMillis(), settings.timeout().toMillis());
        this.exchange = new RedisExchange(layout, connections, liveness, listener);
    }

    @Override
    public ExchangeResult exchange(ExchangeRequest request) {
        return exclusively(() -> exchange.exchange(request));
    }

    @Override
    public ExchangeResult resolve(ExchangeRequest request) {
        return exclusively(() -> exchange.resolve(request));
    }

    private <T> T exclusively(Supplier<T> action) {
        if (!InterruptShield.await(lane::tryAcquire, connections.callDeadline())) {
            throw new BackendUnavailableException(
                    layout.what() + ": the connection is busy, nothing was changed", null);
        }
        try {
            if (ended.get()) {
                throw new BackendUnavailableException(layout.what() + ": the session has ended", null);
            }
            return action.get();
        } finally {
            leaveLane();
        }
    }

    @Override
    public @Nullable CompletionStage<ExchangeResult> start(ExchangeRequest request) {
        if (ended.get() || !lane.tryAcquire()) {
            return null;
        }
        planLook(lookMillis);
        CompletableFuture<ExchangeResult> stage = new CompletableFuture<>();
        boolean begun = false;
        try {
            begun = exchange.start(request, (result, failure) -> {
                // First: as soon as the stage completes the engine may start the next.
                leaveLane();
                if (result != null) {
                    stage.complete(result);
                } else {
                    stage.completeExceptionally(Objects.requireNonNull(failure));
                }
            });
        } finally {
            if (!begun) {
                lane.release();
            }
        }
        return begun ? stage : null;
    }

    private void leaveLane() {
        lastNanos = System.nanoTime();
        lane.release();
        planLook(lookMillis);
        if (liveness.ledger().hasOffers()) {
            planTidying();
        }
    }

    /**
     * A slot may be given to this session when none of its callers waits any more. The engine takes what it wants at once; what is
     * left a moment later goes back.
     */
    private void planTidying() {
        if (tidyPlanned.compareAndSet(false, true)) {
            connections.later(() -> listener.execute(() -> tidy(false)), UNWANTED.toMillis());
        }
    }

    /**
     * Gives back what no caller of this session wants.
     *
     * @param look whether there may be slots of which this session does not know
     */
    private void tidy(boolean look) {
        tidyPlanned.set(false);
        if (ended.get() || !(look || liveness.ledger().hasOffers())) {
            return;
        }
        quietly(() -> exchange.giveBackUnwanted(look, connections.callDeadline()));
    }

    private void quietly(Runnable action) {
        try {
            exclusively(() -> {
                action.run();
                return true;
            });
        } catch (RedisErrorException | WireException | SemaphoreException e) {
            LOG.debug("{}: left to a later call, or to the end of the session", layout.what(), e);
        }
    }

    private void planLook(long afterMillis) {
        if (!lookPlanned.get() && lookPlanned.compareAndSet(false, true)) {
            connections.later(this::look, afterMillis);
        }
    }

    /**
     * Ends a wait for a reply that does not come, and the watch of a session that is idle. One timer for both, and at most one of a
     * session: a timer for each exchange would cost more than the exchange. On a thread that may not be blocked.
     */
    private void look() {
        lookPlanned.set(false);
        Deadline due = exchange.endOverdue();
        if (due != null) {
            long left = due.nanosFrom(System.nanoTime()) / 1_000_000;
            planLook(due.isPast(System.nanoTime()) ? lookMillis : left + 1);
        } else if (ended.get()) {
            return;
        } else if (!holds().isEmpty() || System.nanoTime() - lastNanos < IDLE.toNanos()) {
            planLook(lookMillis);
        } else if (lane.tryAcquire()) {
            try {
                exchange.wire().rest();
            } finally {
                lane.release();
            }
        } else {
            // An exchange begins at this moment: it may have found this look planned, and has nothing else that ends
            // its wait.
            planLook(lookMillis);
        }
    }

    @Override
    public Renewal renew(Collection<Hold> holds) {
        Renewal renewal = liveness.renew(holds);
        if (leaving) {
            // A place of a client that holds nothing ends with its lease.
            listener.execute(this::leaveQueue);
        }
        return renewal;
    }

    /** No caller waits here any more; a call that came meanwhile goes to the next in the queue. */
    private void leaveQueue() {
        quietly(() -> {
            if (leaving) {
                boolean queued = exchange.departure().leaveQueue(connections.callDeadline());
                if (queued || liveness.ledger().hasOffers()) {
                    exchange.giveBackUnwanted(queued, connections.callDeadline());
                }
                leaving = false;
            }
        });
    }

    @Override
    public Duration renewEvery() {
        return liveness.renewEvery();
    }

    @Override
    public HoldState check(Hold hold) {
        return liveness.check(hold);
    }

    @Override
    public Watch watch(Runnable hint) {
        Deadline deadline = connections.callDeadline();
        // Its own channel it hears until it ends: a slot may be given to it when it has ceased to wait.
        if (listening.compareAndSet(false, true)) {
            listen(own, layout.channelOf(liveness.client()), deadline);
            liveness.ledger().listens();
        }
        leaving = false;
        hintOfEngine = hint;
        listen(everybody, layout.channelOfAll(), deadline);
        AtomicBoolean open = new AtomicBoolean(true);
        return () -> {
            if (open.compareAndSet(true, false)) {
                hintOfEngine = null;
                channels.forget(layout.channelOfAll(), everybody);
                leaving = true;
                if (!ended.get()) {
                    leaveQueue();
                }
            }
        };
    }

    private void listen(Consumer<String> ear, String channel, Deadline deadline) {
        try {
            channels.listen(channel, ear, deadline);
        } catch (RuntimeException e) {
            hintOfEngine = null;
            if (ear.equals(own)) {
                listening.set(false);
            }
            throw e;
        }
    }

    /**
     * On the channel of this session alone: something was given to it, or something may be free.
     *
     * @param message empty when messages may have been lost, and with them what was given
     */
    private void heard(String message) {
        if (message.isEmpty() && liveness.takesHandedSlots()) {
            listener.execute(() -> tidy(true));
        }
        Ledger.Offer offer = Ledger.Offer.parse(message);
        if (offer != null) {
            liveness.ledger().offer(offer);
        } else {
            liveness.ledger().called();
        }
        hint(message);
        if (offer != null && liveness.ledger().hasOffers()) {
            planTidying();
        }
    }

    /** On any channel: something may be free. */
    private void hint(String unused) {
        Runnable hint = hintOfEngine;
        if (hint != null) {
            hint.run();
        }
    }

    /** What this session holds as far as it knows. */
    Set<Hold> holds() {
        return Set.copyOf(liveness.ledger().holds());
    }

    @Override
    public boolean servesInOrder() {
        return true;
    }

    @Override
    public void close() {
        if (!ended.compareAndSet(false, true)) {
            return;
        }
        forgetChannels();
        Deadline deadline = connections.callDeadline();
        boolean alone = InterruptShield.await(lane::tryAcquire, deadline);
        try {
            if (alone && exchange.wire().last() != null) {
                exchange.departure().sayGoodbye(deadline);
            }
        } catch (RedisErrorException | WireException | SemaphoreException e) {
            LOG.info("{}: could not say good-bye, what is held is free in a while: {}", layout.what(), e.getMessage());
        } finally {
            exchange.wire().close();
            if (alone) {
                lane.release();
            }
        }
    }

    @Override
    public void abort() {
        ended.set(true);
        forgetChannels();
        exchange.wire().close();
    }

    private void forgetChannels() {
        if (listening.get()) {
            channels.forget(layout.channelOf(liveness.client()), own);
        }
    }
}
