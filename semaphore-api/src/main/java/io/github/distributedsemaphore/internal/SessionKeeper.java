package io.github.distributedsemaphore.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The session of one client at one semaphore: opens it, renews what it holds, hears what the backend says of it, and closes it.
 * Thread-safe; talks to the backend without the lock.
 */
final class SessionKeeper {
    private static final Logger LOG = LoggerFactory.getLogger(SessionKeeper.class);

    /** Where an adapter does not even say how often to renew. */
    private static final long MOST_NANOS_BETWEEN_FAILED_RENEWALS = 1_000_000_000;

    private final String name;
    private final SemaphoreBackend backend;
    private final Combiner combiner;
    private final Environment environment;

    @GuardedBy("combiner.lock")
    private final WaitQueue queue;

    @GuardedBy("combiner.lock")
    private final PendingWork work;

    @GuardedBy("combiner.lock")
    private final Wakeups wakeups;

    @GuardedBy("combiner.lock")
    private final Slots slots;

    @GuardedBy("combiner.lock")
    private final Outage outage;

    @GuardedBy("combiner.lock")
    private final Ledger ledger;

    /** Changed under the lock, as are the three below. */
    private volatile @Nullable BackendSession session;

    /** Counts sessions, so that what comes late from an old one is not taken for news of the present one. */
    private volatile int generation;

    private volatile boolean renewing;

    private Environment.@Nullable Timer nextRenewal;

    SessionKeeper(
            String name,
            SemaphoreBackend backend,
            Combiner combiner,
            Environment environment,
            WaitQueue queue,
            PendingWork work,
            Wakeups wakeups,
            Slots slots,
            Outage outage,
            Ledger ledger) {
        this.name = name;
        this.backend = backend;
        this.combiner = combiner;
        this.environment = environment;
        this.queue = queue;
        this.work = work;
        this.wakeups = wakeups;
        this.slots = slots;
        this.outage = outage;
        this.ledger = ledger;
    }

    int generation() {
        return generation;
    }

    @Nullable
    BackendSession session() {
        return session;
    }

    boolean servesInOrder() {
        BackendSession current = session;
        return current != null && current.servesInOrder();
    }

    /**
     * Returns the session, opening one if there is none. Without the lock; only by the thread that does the exchange.
     *
     * @param expected the generation that the exchange is for
     * @return null if that session has ended
     */
    @Nullable
    BackendSession open(int expected) {
        combiner.lock.lock();
        try {
            if (generation != expected || session != null) {
                return generation == expected ? session : null;
            }
            if (queue.isClosed()) {
                throw Failures.closed(name);
            }
        } finally {
            combiner.lock.unlock();
        }
        BackendSession opened = connect(expected);
        combiner.lock.lock();
        try {
            if (generation == expected) {
                session = opened;
                return opened;
            }
        } finally {
            combiner.lock.unlock();
        }
        opened.abort();
        return null;
    }

    private BackendSession connect(int expected) {
        try {
            return backend.open(name, new Listener(expected));
        } catch (RuntimeException | Error e) {
            throw Failures.notOpened(name, e);
        }
    }

    /** Starts over: what the old session held is forgotten. Returns that session for closing, without the lock. */
    @GuardedBy("combiner.lock")
    @SuppressWarnings("NonAtomicVolatileUpdate") // changed under the lock only
    private @Nullable BackendSession forget() {
        BackendSession ended = session;
        session = null;
        generation++;
        slots.forget();
        return ended;
    }

    /** Closes the session, which the next step does. */
    void closeLater() {
        combiner.lock.lock();
        try {
            BackendSession ended = forget();
            BackendSession.Watch watch = wakeups.forget();
            work.chore(() -> {
                closeQuietly(watch);
                closeQuietly(ended);
            });
        } finally {
            combiner.lock.unlock();
        }
    }

    /** Ends the session, properly or as if the process had died. */
    void close(boolean abort) {
        BackendSession.Watch watch;
        BackendSession ended;
        combiner.lock.lock();
        try {
            watch = wakeups.forget();
            ended = forget();
            // The end of a session that is closed frees its slots: that is a release.
            outage.sessionEnded(abort ? ReleaseOutcome.WAS_LOST : ReleaseOutcome.RELEASED);
        } finally {
            combiner.lock.unlock();
        }
        if (abort && ended != null) {
            // First, so that the end of the watch waits for nothing.
            closeQuietly(ended::abort);
        }
        closeQuietly(watch);
        if (!abort) {
            closeQuietly(ended);
        }
    }

    /** An adapter that throws here keeps nothing else from being closed. */
    private void closeQuietly(@Nullable AutoCloseable closeable) {
        try {
            if (closeable != null) {
                closeable.close();
            }
        } catch (Exception | Error e) {
            environment.log(() -> LOG.warn("The backend failed to close something of semaphore '{}'", name, e));
        }
    }

    /** Under the lock, with something held: it is renewed from now on. */
    void keepRenewing() {
        BackendSession current = session;
        if (!renewing && current != null) {
            renewAfter(firstInterval(current));
        }
    }

    /** Under the lock. One timer only: each renewal plans the next, so a second one would never end. */
    private void renewAfter(long nanos) {
        renewing = false;
        if (nextRenewal != null) {
            nextRenewal.cancel();
        }
        nextRenewal = environment.schedule(this::renew, Math.max(nanos, 1));
        renewing = true;
    }

    /** An adapter that cannot even say how often it wants to be asked is asked often: the grant is not to fail by that. */
    private long firstInterval(BackendSession of) {
        try {
            return of.renewEvery().toNanos();
        } catch (RuntimeException | Error e) {
            environment.log(() -> LOG.warn("Semaphore '{}': it is not known how often to renew", name, e));
            return MOST_NANOS_BETWEEN_FAILED_RENEWALS;
        }
    }

    /** Whatever fails here, for want of memory perhaps: what is held depends on the next renewal. */
    private void renew() {
        try {
            renewAll();
        } catch (RuntimeException | Error e) {
            combiner.lock.lock();
            try {
                renewAfter(MOST_NANOS_BETWEEN_FAILED_RENEWALS / 4);
            } finally {
                combiner.lock.unlock();
            }
            throw e;
        }
    }

    private void renewAll() {
        BackendSession current;
        int renewed;
        List<SlotHold> asked;
        combiner.lock.lock();
        try {
            current = session;
            renewed = generation;
            asked = slots.all();
            if (current == null || asked.isEmpty()) {
                renewing = false;
                return;
            }
        } finally {
            combiner.lock.unlock();
        }
        ask(current, renewed, asked);
    }

    private void ask(BackendSession current, int renewed, List<SlotHold> asked) {
        long start = environment.nanoTime();
        long interval = MOST_NANOS_BETWEEN_FAILED_RENEWALS;
        Renewal renewal = null;
        try {
            interval = current.renewEvery().toNanos();
            renewal = current.renew(asked.stream().map(SlotHold::hold).toList());
        } catch (RuntimeException | Error e) {
            environment.log(() -> LOG.warn("Renewal at semaphore '{}' failed, trying again: {}", name, e.toString()));
        }
        environment.checkpoint();
        combiner.lock.lock();
        try {
            ledger.renewed(asked.size(), start, renewal != null);
            if (renewal != null && renewed == generation) {
                slots.confirm(asked, renewal, start, isExchanging());
                outage.mayBeOver();
            }
            long wait = renewal == null ? interval / 4 : start + interval - environment.nanoTime();
            renewAfter(wait);
        } finally {
            combiner.lock.unlock();
        }
    }

    /** Whether an answer may be on its way, or still has to be found out. */
    @GuardedBy("combiner.lock")
    private boolean isExchanging() {
        return combiner.isBusy() || work.unresolved() != null;
    }

    /** Asks the backend whether a permit is still held. */
    Verification verify(HeldPermit permit) {
        BackendSession current;
        combiner.lock.lock();
        try {
            Verification known = slots.known(permit);
            if (known != null) {
                return known;
            }
            current = session;
            if (current == null) {
                return Verification.LOST;
            }
        } finally {
            combiner.lock.unlock();
        }
        HoldState answer;
        try {
            answer = Questions.now(name, () -> current.check(permit.hold().hold()));
        } catch (RuntimeException e) {
            return whatEnded(permit, e);
        }
        combiner.lock.lock();
        try {
            return slots.verified(permit, answer, isExchanging());
        } finally {
            combiner.lock.unlock();
        }
    }

    /** The question failed. It may have failed because the permit or the client ended, and then no backend is to blame. */
    private Verification whatEnded(HeldPermit permit, RuntimeException failure) {
        Verification known;
        combiner.lock.lock();
        try {
            known = slots.known(permit);
        } finally {
            combiner.lock.unlock();
        }
        if (known == null) {
            throw failure;
        }
        combiner.passOn();
        return known;
    }

    /** What the backend says of one session. */
    private final class Listener implements SessionListener {
        private final int of;

        Listener(int of) {
            this.of = of;
        }

        @Override
        public void lost(Collection<Hold> lost, String reason) {
            combiner.lock.lock();
            try {
                if (of == generation) {
                    slots.lose(lost, reason, isExchanging());
                }
            } finally {
                combiner.lock.unlock();
            }
        }

        @Override
        public void ended(String reason) {
            combiner.lock.lock();
            try {
                if (of != generation) {
                    return;
                }
                slots.loseAll(LossCause.SESSION_ENDED, reason);
                ledger.sessionEnded();
                closeLater();
                outage.sessionEnded(ReleaseOutcome.WAS_LOST);
            } finally {
                combiner.lock.unlock();
            }
            environment.execute(combiner::driveAll);
        }

        @Override
        public void execute(Runnable task) {
            environment.execute(task);
        }
    }
}
