package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.InterruptShield;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One client's presence at one semaphore: a pool of Consul sessions, and a watch over the prefix. */
final class ConsulSession implements BackendSession {
    private static final Logger LOG = LoggerFactory.getLogger(ConsulSession.class);
    /** After this time a renewal of many sessions is broken off, and tried again. */
    private static final Duration RENEWAL_BUDGET = Duration.ofSeconds(6);

    private final ConsulSettings settings;
    private final String subject;
    private final PrefixReader reader;
    private final SessionPool pool;
    private final PrefixWatcher watcher;
    private final ConsulExchange exchange;
    /** Held during an exchange: closing does not wait for one that is under way. */
    private final ReentrantLock exchanging = new ReentrantLock();

    private final AtomicBoolean closed = new AtomicBoolean();

    ConsulSession(
            ConsulHttp operations, ConsulHttp watches, ConsulSettings settings, String name, SessionListener listener) {
        this.settings = settings;
        this.subject = "Semaphore '" + name + "' in Consul at " + settings;
        this.reader = new PrefixReader(operations, KeyNames.prefixOf(settings.prefix(), name), subject);
        SessionCalls calls = new SessionCalls(operations, name, subject, settings);
        this.pool = new SessionPool(calls, subject, settings.ttl());
        WatchGrace grace = new WatchGrace(settings.grace());
        this.watcher = new PrefixWatcher(operations, watches, reader, pool, listener, name, grace);
        PlanSender sender = new PlanSender(operations, settings.self());
        this.exchange = new ConsulExchange(sender, reader, pool, settings, subject, watcher::othersPresent);
    }

    @Override
    public ExchangeResult exchange(ExchangeRequest request) {
        exchanging.lock();
        try (InterruptShield shield = new InterruptShield()) {
            ExchangeResult result = exchange.exchange(request, shield);
            watchIfHeld();
            return result;
        } finally {
            exchanging.unlock();
        }
    }

    @Override
    public ExchangeResult resolve(ExchangeRequest request) {
        exchanging.lock();
        try (InterruptShield shield = new InterruptShield()) {
            ExchangeResult result = exchange.resolve(request, shield);
            watchIfHeld();
            return result;
        } finally {
            exchanging.unlock();
        }
    }

    private void watchIfHeld() {
        if (!pool.held().isEmpty()) {
            watcher.start();
        }
    }

    @Override
    public Renewal renew(Collection<Hold> holds) {
        try (InterruptShield shield = new InterruptShield()) {
            watcher.loseIfGraceIsOver();
            Deadline end = Deadline.after(System.nanoTime(), RENEWAL_BUDGET);
            Map<Hold, SlotSession> sessions = sessionsOf(holds);
            Set<Hold> lost = new HashSet<>(holds);
            lost.removeAll(sessions.keySet());
            long start = System.nanoTime();
            List<Hold> ended = new ArrayList<>();
            for (Map.Entry<Hold, SlotSession> held : sessions.entrySet()) {
                if (end.isPast(System.nanoTime())) {
                    throw new BackendUnavailableException(
                            subject + ": renewing " + sessions.size() + " sessions takes too long", null);
                }
                if (!pool.renew(held.getValue())) {
                    ended.add(held.getKey());
                }
            }
            PrefixView view = reader.read();
            sessions.forEach((hold, session) -> {
                if (ended.contains(hold) || !view.isHolder(session.id())) {
                    pool.lose(hold, session);
                    lost.add(hold);
                }
            });
            Set<Hold> retired = new HashSet<>();
            sessions.keySet().stream()
                    .filter(hold -> hold.slot() > view.limit())
                    .forEach(retired::add);
            retired.removeAll(lost);
            shield.absorb();
            return new Renewal(Deadline.after(start, settings.ttl()), lost, retired);
        }
    }

    private Map<Hold, SlotSession> sessionsOf(Collection<Hold> holds) {
        Map<Hold, SlotSession> sessions = new HashMap<>();
        for (Hold hold : holds) {
            SlotSession session = pool.holderOf(hold);
            if (session != null) {
                sessions.put(hold, session);
            }
        }
        return sessions;
    }

    /** Returns what is held now. */
    List<Hold> held() {
        return List.copyOf(pool.held().keySet());
    }

    @Override
    public Duration renewEvery() {
        return settings.renewEvery();
    }

    @Override
    public HoldState check(Hold hold) {
        SlotSession session = pool.holderOf(hold);
        if (session == null) {
            return HoldState.LOST;
        }
        PrefixView view = reader.read();
        if (!view.isHolder(session.id())) {
            pool.lose(hold, session);
            return HoldState.LOST;
        }
        return hold.slot() > view.limit() ? HoldState.RETIRED : HoldState.HELD;
    }

    @Override
    public Watch watch(Runnable hint) {
        watcher.hint(hint);
        return watcher::endHint;
    }

    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        watcher.stop();
        giveBackAll();
        pool.endAll(pool.close());
    }

    private void giveBackAll() {
        if (!exchanging.tryLock()) {
            return;
        }
        try (InterruptShield shield = new InterruptShield()) {
            List<Hold> rest = held();
            if (!rest.isEmpty()) {
                exchange.exchange(new ExchangeRequest(rest, List.of(), 1, false), shield);
            }
        } catch (SemaphoreException e) {
            LOG.debug("{}: closing by ending the sessions", subject, e);
        } finally {
            exchanging.unlock();
        }
    }

    @Override
    public void abort() {
        closed.set(true);
        watcher.stop();
        pool.close();
    }
}
