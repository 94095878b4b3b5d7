package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.SemaphoreListener;
import io.github.distributedsemaphore.SemaphoreStatistics;
import java.util.Collection;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Counts what happens at one semaphore, and has the client's listeners called once the lock is free. Guarded by the coordinator's
 * lock, so a count costs an addition; the clock is read only for listeners.
 */
final class Ledger {
    /** How long it was is not known. */
    static final long UNKNOWN = -1;

    private final String name;
    private final CoordinatorLock lock;
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

    Ledger(String name, CoordinatorLock lock, Environment environment, Listeners listeners) {
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

    void granted(AcquireCall waiter, Collection<HeldPermit> permits) {
        long waited = since(waiter.since());
        for (HeldPermit permit : permits) {
            boolean handedOff = permit.hold().handOffs() > 0;
            if (handedOff) {
                grantedByHandOff++;
            } else {
                grantedByBackend++;
            }
            if (hasListeners()) {
                int slot = permit.slot();
                tell(listener -> listener.onAcquired(name, slot, waited, handedOff));
            }
        }
    }

    void refused(AcquireCall waiter) {
        if (waiter.isOnce() && !waiter.isExtended()) {
            refused++;
            tell(listener -> listener.onRefused(name));
        } else {
            timedOut++;
            long waited = since(waiter.since());
            tell(listener -> listener.onTimedOut(name, waited));
        }
    }

    void withdrawn(AcquireCall waiter) {
        withdrawn++;
        long waited = since(waiter.since());
        tell(listener -> listener.onWithdrawn(name, waited));
    }

    void failed(AcquireCall waiter) {
        failed++;
        long waited = since(waiter.since());
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

    void exchanged(Batch batch, boolean answered) {
        if (answered) {
            exchanges++;
        } else {
            failedExchanges++;
        }
        int calls = batch.waiters().size();
        int givenBack = batch.releases().size();
        long took = since(batch.sent());
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
            lock.tellAfterwards(() -> listeners.tell(news));
        }
    }

    SemaphoreStatistics snapshot(Collection<SlotHold> holds, int waiting) {
        int held = 0;
        Deadline validUntil = Deadline.NEVER;
        for (SlotHold hold : holds) {
            HeldPermit permit = hold.permit();
            if (permit != null && permit.state() == HeldPermit.State.HELD) {
                held++;
                validUntil = validUntil.earlier(hold.validUntil());
            }
        }
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
}
