package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One client's presence at one semaphore: exchanges on a connection of its own, everything else on shared ones. */
final class RedisSession implements BackendSession {
    private static final Logger LOG = LoggerFactory.getLogger(RedisSession.class);

    /** After this the watch of a session that holds nothing ends, at the price of a round trip when it comes back. */
    private static final long IDLE_MILLIS = 2_000;

    private final RedisLayout layout;
    private final RedisConnections connections;
    private final RedisChannels channels;
    private final RedisLiveness liveness;
    private final RedisExchange exchange;
    private final AtomicBoolean ended = new AtomicBoolean();

    /** An exchange may be under way while the session is closed. */
    private final ReentrantLock exchanging = new ReentrantLock();

    private final AtomicBoolean restPlanned = new AtomicBoolean();
    private volatile long lastNanos;

    RedisSession(
            RedisLayout layout,
            RedisConnections connections,
            ExclusiveWire transactions,
            RedisChannels channels,
            RedisSettings settings,
            SessionListener listener) {
        this.layout = layout;
        this.connections = connections;
        this.channels = channels;
        this.liveness = new RedisLiveness(layout, connections, transactions, settings);
        this.exchange = new RedisExchange(layout, connections, liveness, listener);
    }

    @Override
    public ExchangeResult exchange(ExchangeRequest request) {
        return exclusively(() -> exchange.exchange(request));
    }

    @Override
    public ExchangeResult resolve(ExchangeRequest request) {
        return exclusively(exchange::resolve);
    }

    private ExchangeResult exclusively(Supplier<ExchangeResult> action) {
        exchanging.lock();
        try {
            if (ended.get()) {
                throw new BackendUnavailableException(layout.what() + ": the session has ended", null);
            }
            return action.get();
        } finally {
            lastNanos = System.nanoTime();
            exchanging.unlock();
            planRest();
            passOnTold();
        }
    }

    /** A message may come when nobody waits any more, or while an exchange is under way that does not see it. Does not wait. */
    private void passOnTold() {
        boolean more = exchange.choice().hasTold();
        while (more && exchanging.tryLock()) {
            try {
                more = !ended.get()
                        && exchange.place().passOnTold()
                        && exchange.choice().hasTold();
            } finally {
                exchanging.unlock();
            }
        }
    }

    private void planRest() {
        if (!restPlanned.get() && restPlanned.compareAndSet(false, true)) {
            connections.later(this::restIfIdle, IDLE_MILLIS);
        }
    }

    /** On a thread that may not be blocked. */
    private void restIfIdle() {
        restPlanned.set(false);
        if (ended.get()) {
            return;
        }
        boolean idle = holds().isEmpty() && System.nanoTime() - lastNanos >= IDLE_MILLIS * 1_000_000;
        if (!idle) {
            planRest();
        } else if (exchanging.tryLock()) {
            try {
                exchange.wire().rest();
            } finally {
                exchanging.unlock();
            }
        }
    }

    @Override
    public Renewal renew(Collection<Hold> holds) {
        return liveness.renew(holds);
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
        List<String> names = List.of(layout.channelOf(liveness.client()), layout.channelOfAll());
        IntConsumer listener = slot -> {
            if (slot > 0) {
                exchange.choice().told(slot);
            }
            hint.run();
            passOnTold();
        };
        channels.listen(names, listener, connections.callDeadline());
        AtomicBoolean open = new AtomicBoolean(true);
        return () -> {
            if (open.compareAndSet(true, false)) {
                channels.forget(names, listener);
                leaveQueue();
            }
        };
    }

    /** What this session holds as far as it knows. */
    Set<Hold> holds() {
        return liveness.holds().keySet();
    }

    /** Nobody waits here any more; a call that came meanwhile goes to the next in the queue. */
    private void leaveQueue() {
        if (!Awaiting.lock(exchanging, connections.callDeadline())) {
            return;
        }
        try {
            if (!ended.get()) {
                exchange.place().leave();
            }
        } catch (RedisErrorException | WireException | SemaphoreException e) {
            LOG.debug("{}: the place in the queue is given up when the session ends", layout.what(), e);
        } finally {
            exchanging.unlock();
        }
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
        Deadline deadline = connections.callDeadline();
        boolean alone = Awaiting.lock(exchanging, deadline);
        try {
            if (alone && exchange.wire().wasUsed()) {
                new RedisFarewell(layout, liveness, exchange.wire()).say(deadline);
            }
        } catch (RedisErrorException | WireException | SemaphoreException e) {
            LOG.info("{}: could not say good-bye, what is held is free in a while: {}", layout.what(), e.getMessage());
        } finally {
            exchange.wire().close();
            if (alone) {
                exchanging.unlock();
            }
        }
    }

    @Override
    public void abort() {
        if (ended.compareAndSet(false, true)) {
            exchange.wire().close();
        }
    }
}
