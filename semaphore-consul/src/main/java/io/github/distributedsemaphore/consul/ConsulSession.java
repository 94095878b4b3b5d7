package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.consul.SessionPool.SlotSession;
import io.github.distributedsemaphore.consul.net.ConsulHttp;
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
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One client's presence at one semaphore: a pool of Consul sessions, and a watch over the prefix. */
final class ConsulSession implements BackendSession {
    private static final Logger LOG = LoggerFactory.getLogger(ConsulSession.class);

    private final ConsulHttp operations;
    private final ConsulSettings settings;
    private final String subject;
    private final PrefixReader reader;
    private final SessionCalls calls;
    private final SessionPool pool;
    private final PrefixWatcher watcher;
    private final ConsulExchange exchange;

    ConsulSession(
            ConsulHttp operations, ConsulHttp watches, ConsulSettings settings, String name, SessionListener listener) {
        this.operations = operations;
        this.settings = settings;
        this.subject = settings.subject(name);
        this.reader = new PrefixReader(operations, KeyNames.prefixOf(settings.prefix(), name), subject);
        SessionCalls.SideBySide sideBySide = new SessionCalls.SideBySide(listener::execute);
        this.calls = new SessionCalls(operations, name, subject, settings, sideBySide);
        this.pool = new SessionPool(calls, subject, sideBySide);
        this.watcher = new PrefixWatcher(operations, watches, reader, pool, listener, name, settings.grace());
        this.exchange = new ConsulExchange(operations, reader, calls, pool, settings, subject, watcher);
    }

    @Override
    public ExchangeResult exchange(ExchangeRequest request) {
        try (InterruptShield shield = new InterruptShield()) {
            ExchangeResult result = exchange.exchange(request, operations.end(), shield);
            watchIfHeld();
            return result;
        }
    }

    @Override
    public ExchangeResult resolve(ExchangeRequest request) {
        try (InterruptShield shield = new InterruptShield()) {
            ExchangeResult result = exchange.resolve(request, operations.end(), shield);
            watchIfHeld();
            return result;
        }
    }

    /** What was granted stays granted if there is no thread for the watch: the next exchange or renewal starts it. */
    private void watchIfHeld() {
        if (pool.held().isEmpty()) {
            return;
        }
        try {
            watcher.start();
        } catch (RuntimeException | Error e) {
            LOG.warn("{}: the watch could not be started, it is tried again: {}", subject, e.toString());
        }
    }

    /**
     * Renews as many sessions as the time allows over several connections, those first that were renewed longest ago. When that
     * were not all, the others are next; the result counts from the one that was renewed longest ago.
     */
    @Override
    public Renewal renew(Collection<Hold> holds) {
        try (InterruptShield shield = new InterruptShield()) {
            watcher.loseIfGraceIsOver();
            watchIfHeld();
            Deadline end = Deadline.after(System.nanoTime(), settings.renewalTimeout());
            // What is left is for the reading.
            Deadline enough = Attempts.part(end, 3, 4);
            Set<Hold> lost = new HashSet<>(holds);
            Map<Hold, SlotSession> sessions = pool.held();
            sessions.keySet().retainAll(lost);
            lost.removeAll(sessions.keySet());
            long lately = settings.renewEvery().toNanos() / 2;
            Set<SlotSession> ended = calls.renewAll(sessions.values(), lately, enough, end);
            PrefixView view = reader.read(end);
            Map<Hold, SlotSession> missing = new HashMap<>(sessions);
            missing.entrySet()
                    .removeIf(hold -> !ended.contains(hold.getValue())
                            && view.isHeld(hold.getKey(), hold.getValue().id()));
            pool.lose(missing, end);
            lost.addAll(missing.keySet());
            sessions.keySet().removeAll(lost);
            Set<Hold> retired = new HashSet<>(sessions.keySet());
            retired.removeIf(hold -> hold.slot() <= view.limit());
            shield.absorb();
            return new Renewal(calls.aliveUntil(sessions.values()), lost, retired);
        }
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
        Deadline end = operations.end();
        PrefixView view = reader.read(end);
        if (!view.isHeld(hold, session.id())) {
            pool.lose(Map.of(hold, session), end);
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
    public boolean servesInOrder() {
        return true;
    }

    @Override
    public void close() {
        watcher.stop();
        // A slot whose session has ended is free, whatever the list says.
        calls.destroyRest(pool.close(), operations.end());
    }

    @Override
    public void abort() {
        watcher.stop();
        pool.close();
    }
}
