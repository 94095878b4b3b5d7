package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.SemaphoreListener;
import io.github.distributedsemaphore.SemaphoreStatistics;
import java.util.Collections;
import java.util.EnumMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts what happens at one semaphore, and has the client's listeners called once the lock is free. Guarded by the coordinator's
 * lock, so a count costs an addition; the clock is read only for listeners.
 */
final class Ledger {
    /** How long it was is not known. */
    static final long UNKNOWN = -1;

    private final String name;
    private final Combiner.Lock lock;
    private final Environment environment;
    private final Listeners listeners;

    private final Map<LossCause, Long> lost = new EnumMap<>(LossCause.class);
    private long grantedByBackend;
    private long grantedByHandOff;
    private long refused;
    private long timedOut;
    private long withdrawn;
    private long failed;
    private long released;
    private long exchanges;
    private long failedExchanges;
    private long renewals;
    private long failedRenewals;

    Ledger(String name, Combiner.Lock lock, Environment environment, Listeners listeners) {
        this.name = name;
        this.lock = lock;
        this.environment = environment;
        this.listeners = listeners;
        for (LossCause cause : LossCause.values()) {
            lost.put(cause, 0L);
        }
    }

    boolean hasListeners() {
        return listeners.areThere();
    }

    /** A call that came at an instant got a slot. */
    void granted(long came, int slot, boolean handedOff) {
        if (handedOff) {
            grantedByHandOff++;
        } else {
            grantedByBackend++;
        }
        if (hasListeners()) {
            long waited = since(came);
            tell(listener -> listener.onAcquired(name, slot, waited, handedOff));
        }
    }

    void refused() {
        refused++;
        tell(listener -> listener.onRefused(name));
    }

    void timedOut(long came) {
        timedOut++;
        long waited = since(came);
        tell(listener -> listener.onTimedOut(name, waited));
    }

    void withdrawn(long came) {
        withdrawn++;
        long waited = since(came);
        tell(listener -> listener.onWithdrawn(name, waited));
    }

    void failed(long came) {
        failed++;
        long waited = since(came);
        tell(listener -> listener.onFailed(name, waited));
    }

    /** The time of the grant counts only if it was taken. */
    void released(int slot, boolean timed, long grantedAt) {
        released++;
        long held = timed ? since(grantedAt) : UNKNOWN;
        tell(listener -> listener.onReleased(name, slot, held));
    }

    void lost(int slot, LossCause cause) {
        lost.merge(cause, 1L, Long::sum);
        tell(listener -> listener.onLost(name, slot, cause));
    }

    void exchanged(int calls, int givenBack, long sent, boolean answered) {
        if (answered) {
            exchanges++;
        } else {
            failedExchanges++;
        }
        long took = since(sent);
        tell(listener -> listener.onExchange(name, calls, givenBack, took, answered));
    }

    void renewed(int holds, long sent, boolean answered) {
        if (answered) {
            renewals++;
        } else {
            failedRenewals++;
        }
        long took = since(sent);
        tell(listener -> listener.onRenewal(name, holds, took, answered));
    }

    void sessionEnded() {
        tell(listener -> listener.onSessionEnded(name));
    }

    private long since(long instant) {
        return hasListeners() ? environment.nanoTime() - instant : UNKNOWN;
    }

    private void tell(Consumer<SemaphoreListener> news) {
        if (hasListeners()) {
            lock.tellAfterwards(() -> listeners.tell(news, environment));
        }
    }

    SemaphoreStatistics snapshot(int held, Deadline validUntil, int waiting) {
        return new SemaphoreStatistics(
                held,
                waiting,
                grantedByBackend,
                grantedByHandOff,
                refused,
                timedOut,
                withdrawn,
                failed,
                released,
                lost,
                exchanges,
                failedExchanges,
                renewals,
                failedRenewals,
                validUntil);
    }

    /** The listeners of one client. Thread-safe. */
    static final class Listeners {
        private static final Logger LOG = LoggerFactory.getLogger(Listeners.class);

        private final List<SemaphoreListener> listeners = new CopyOnWriteArrayList<>();
        private final Set<SemaphoreListener> faulty =
                Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<>()));

        void add(SemaphoreListener listener) {
            listeners.add(listener);
        }

        void remove(SemaphoreListener listener) {
            listeners.remove(listener);
            faulty.remove(listener);
        }

        boolean areThere() {
            return !listeners.isEmpty();
        }

        void tell(Consumer<SemaphoreListener> news, Environment environment) {
            for (SemaphoreListener listener : listeners) {
                try {
                    news.accept(listener);
                } catch (Throwable e) {
                    // Of any kind, see EngineSemaphore: it would leave a call that has its permit.
                    if (faulty.add(listener)) {
                        environment.log(() ->
                                LOG.error("The listener {} failed; its next failures are not logged", listener, e));
                    }
                }
            }
        }
    }
}
