package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the coordinator's session alive and knows which slots it holds: renews them in time, and declares lost what could
 * not be confirmed before its validity ended. Guarded by the coordinator's lock; talks to the backend without it.
 */
final class SessionKeeper {
    private static final Logger LOG = LoggerFactory.getLogger(SessionKeeper.class);

    /** Where an adapter does not even say how often to renew. */
    private static final long MOST_NANOS_BETWEEN_FAILED_RENEWALS = 1_000_000_000;

    private final Coordinator coordinator;
    private final ReentrantLock lock;
    private final SemaphoreBackend backend;
    private final Environment environment;

    private final Map<Hold, SlotHold> holds = new HashMap<>();

    /** Holds that were reported lost while they were not known: perhaps the answer that grants them is on its way. */
    private final Set<Hold> lostEarly = new HashSet<>();

    private @Nullable BackendSession session;

    /** Counts sessions, so that what comes late from an old one is not taken for news of the present one. */
    private volatile int generation;

    private boolean renewing;
    private Deadline expiryCheck = Deadline.NEVER;
    private Environment.@Nullable Timer expiryTimer;

    SessionKeeper(Coordinator coordinator, ReentrantLock lock, SemaphoreBackend backend, Environment environment) {
        this.coordinator = coordinator;
        this.lock = lock;
        this.backend = backend;
        this.environment = environment;
    }

    int generation() {
        return generation;
    }

    @Nullable
    BackendSession session() {
        return session;
    }

    Collection<SlotHold> holds() {
        return holds.values();
    }

    /**
     * Returns the session, opening one if there is none. Without the lock; only by the thread that does the exchange.
     *
     * @param expected the generation that the exchange is for
     * @return null if that session has ended
     */
    @Nullable
    BackendSession open(int expected) {
        lock.lock();
        try {
            if (generation != expected || session != null) {
                return generation == expected ? session : null;
            }
            if (coordinator.isClosed()) {
                throw Failures.closed(coordinator.name());
            }
        } finally {
            lock.unlock();
        }
        BackendSession opened = connect(expected);
        lock.lock();
        try {
            if (generation == expected) {
                session = opened;
                return opened;
            }
        } finally {
            lock.unlock();
        }
        opened.abort();
        return null;
    }

    private BackendSession connect(int expected) {
        try {
            return backend.open(coordinator.name(), new Listener(expected));
        } catch (RuntimeException | Error e) {
            throw Failures.notOpened(coordinator.name(), e);
        }
    }

    /** Starts over: what the old session held is forgotten. Returns that session for closing, without the lock. */
    @Nullable
    @SuppressWarnings("NonAtomicVolatileUpdate") // changed under the lock only
    BackendSession end() {
        BackendSession ended = session;
        session = null;
        generation++;
        holds.clear();
        lostEarly.clear();
        return ended;
    }

    void add(SlotHold hold) {
        holds.put(hold.hold(), hold);
        watchOver(hold.validUntil());
        if (!renewing && session != null) {
            renewing = true;
            environment.schedule(this::renew, firstInterval(session));
        }
    }

    /** An adapter that cannot even say how often it wants to be asked is asked often: the grant is not to fail by that. */
    private long firstInterval(BackendSession of) {
        try {
            return of.renewEvery().toNanos();
        } catch (RuntimeException | Error e) {
            String name = coordinator.name();
            coordinator
                    .afterwards(() -> LOG.warn("Semaphore '{}': it is not known how often to renew", name, e))
                    .run();
            return MOST_NANOS_BETWEEN_FAILED_RENEWALS;
        }
    }

    void remove(SlotHold hold) {
        holds.remove(hold.hold(), hold);
    }

    @Nullable
    SlotHold find(Hold hold) {
        return holds.get(hold);
    }

    /** A hold is reported lost that is not known, or not any more. Without an exchange under way it is the latter. */
    void lostUnknown(Hold hold) {
        if (coordinator.isExchanging()) {
            lostEarly.add(hold);
        }
    }

    boolean isLost(SlotHold granted) {
        return lostEarly.contains(granted.hold());
    }

    /** An exchange is answered: no answer from before the reports so far is on its way. */
    void forgetLost() {
        lostEarly.clear();
    }

    /** Looks at that time, or earlier. One timer only: each look sets the next, so a second one would never end. */
    private void watchOver(Deadline validUntil) {
        if (!validUntil.isBefore(expiryCheck)) {
            return;
        }
        if (expiryTimer != null) {
            expiryTimer.cancel();
        }
        expiryCheck = validUntil;
        expiryTimer = environment.schedule(this::checkExpiry, validUntil.nanosFrom(environment.nanoTime()));
    }

    private void checkExpiry() {
        lock.lock();
        try {
            expiryCheck = Deadline.NEVER;
            expiryTimer = null;
            long now = environment.nanoTime();
            for (SlotHold hold : List.copyOf(holds.values())) {
                if (hold.validUntil().isPast(now)) {
                    coordinator.losses().loseUnconfirmed(hold);
                } else {
                    watchOver(hold.validUntil());
                }
            }
        } finally {
            lock.unlock();
        }
        coordinator.driveAll();
    }

    private void renew() {
        BackendSession current;
        int renewed;
        List<SlotHold> asked;
        lock.lock();
        try {
            current = session;
            renewed = generation;
            asked = List.copyOf(holds.values());
            if (current == null || asked.isEmpty()) {
                renewing = false;
                return;
            }
        } finally {
            lock.unlock();
        }
        long start = environment.nanoTime();
        long interval = MOST_NANOS_BETWEEN_FAILED_RENEWALS;
        Renewal renewal = null;
        try {
            interval = current.renewEvery().toNanos();
            renewal = current.renew(asked.stream().map(SlotHold::hold).toList());
        } catch (RuntimeException | Error e) {
            LOG.warn("Renewal at semaphore '{}' failed, trying again: {}", coordinator.name(), e.toString());
        }
        environment.checkpoint();
        lock.lock();
        try {
            coordinator.ledger().renewed(asked.size(), start, renewal != null);
            if (renewal != null && renewed == generation) {
                apply(renewal, asked, start);
                coordinator.answered();
            }
            long wait = renewal == null ? interval / 4 : start + interval - environment.nanoTime();
            environment.schedule(this::renew, Math.max(wait, 1));
        } finally {
            lock.unlock();
        }
    }

    private void apply(Renewal renewal, List<SlotHold> asked, long sent) {
        List<Hold> lost = new ArrayList<>();
        for (SlotHold hold : asked) {
            if (renewal.lost().contains(hold.hold())) {
                lost.add(hold.hold());
            } else if (holds.get(hold.hold()) == hold) {
                hold.confirm(renewal.validUntil());
                hold.retireIf(renewal.retired(), sent);
            }
        }
        coordinator.losses().lose(lost, "the backend does not count it as held any more");
    }

    /** News from one session. */
    private final class Listener implements SessionListener {
        private final int of;

        Listener(int of) {
            this.of = of;
        }

        @Override
        public void lost(Collection<Hold> lost, String reason) {
            lock.lock();
            try {
                if (of == generation) {
                    coordinator.losses().lose(lost, reason);
                }
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void ended(String reason) {
            coordinator.sessionEnded(of, reason);
        }

        @Override
        public void execute(Runnable task) {
            environment.execute(task);
        }
    }
}
