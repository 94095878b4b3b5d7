package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreStatistics;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Everything one client does at one semaphore passes here: calls put down what they want, permits are released and verified,
 * losses become known, the client closes. Which thread then talks to the backend, {@link Combiner} decides; about what,
 * {@link Exchanges}. The lock is held for moments and never while the backend is asked.
 */
final class Coordinator {
    private static final Logger LOG = LoggerFactory.getLogger(Coordinator.class);

    /** For how long a call whose time is over waits for an answer that is under way. */
    private static final long MOMENT_NANOS = 50_000_000;

    private final String name;
    private final SemaphoreBackend backend;
    private final Environment environment;
    private final CoordinatorLock lock = new CoordinatorLock();
    private final Ledger ledger;
    private final PendingWork work;
    private final Exchanges exchanges;
    private final Losses losses;
    private final SessionKeeper keeper;
    private final Wakeups wakeups;
    private final Outage outage;
    private final WaitQueue queue = new WaitQueue();

    private final Combiner combiner;
    private final boolean fencing;
    private boolean closed;
    private boolean acquiringStopped;

    /** Is called when the session begins to be used, and when it is closed because it is not used. */
    private Consumer<Boolean> onUse = used -> {};

    private boolean inUse;

    /** Something was acquired or released since the last look. */
    private boolean usedLately;

    Coordinator(
            String name,
            SemaphoreBackend backend,
            ClientSettings settings,
            Environment environment,
            Retries retries,
            Listeners listeners) {
        this.name = name;
        this.backend = backend;
        this.environment = environment;
        this.fencing = backend.guarantees().has(Capability.FENCING);
        this.ledger = new Ledger(name, lock, environment, listeners);
        this.keeper = new SessionKeeper(this, lock, backend, environment);
        this.wakeups = new Wakeups(this, lock, environment, settings);
        this.work = new PendingWork(queue, wakeups, environment, settings);
        this.outage = new Outage(this, lock, queue, work, environment, retries, settings);
        this.exchanges = new Exchanges(this, lock, queue, keeper, wakeups, work, outage, environment, settings);
        this.losses = new Losses(name, lock, keeper, exchanges, environment);
        this.combiner = new Combiner(lock, exchanges, environment);
    }

    Losses losses() {
        return losses;
    }

    Ledger ledger() {
        return ledger;
    }

    SemaphoreStatistics statistics() {
        lock.lock();
        try {
            return ledger.snapshot(keeper.holds(), queue.waiting());
        } finally {
            lock.unlock();
        }
    }

    String name() {
        return name;
    }

    Environment environment() {
        return environment;
    }

    long now() {
        return environment.nanoTime();
    }

    void requireFencing() {
        if (!fencing) {
            throw new UnsupportedOperationException(
                    "The backend '" + backend.guarantees().backend() + "' has no fencing");
        }
    }

    void requireOpen() {
        lock.lock();
        try {
            if (closed) {
                throw Failures.closed(name);
            }
        } finally {
            lock.unlock();
        }
    }

    /** A wake-up to be ordered under the lock, which happens when that is free. */
    Runnable afterwards(Runnable wakeUp) {
        return () -> lock.wakeAfterwards(wakeUp);
    }

    /** Puts down that a call wants permits. The caller drives next. */
    void submit(AcquireCall waiter) {
        lock.lock();
        try {
            if (closed) {
                waiter.fail(Failures.closed(name));
                return;
            }
            if (acquiringStopped) {
                waiter.fail(Failures.stopped(name));
                return;
            }
            boolean first = !queue.isAnyoneWaiting();
            waiter.submitted(now(), ledger);
            use();
            queue.add(waiter);
            outage.arrived();
            if (waiter.isOnce() || first) {
                work.arrived(waiter);
            }
        } finally {
            lock.unlock();
        }
        environment.checkpoint();
    }

    private void use() {
        usedLately = true;
        if (!inUse) {
            inUse = true;
            onUse.accept(true);
        }
    }

    /** Before the first call only. */
    void onUse(Consumer<Boolean> listener) {
        onUse = listener;
    }

    /** Closes the session if nothing is held or wanted, and nothing was since this was called last. */
    void restIfUnused() {
        lock.lock();
        try {
            boolean wanted = queue.isAnyoneWaiting() || work.isAnythingOwed() || combiner.isBusy();
            if (usedLately || wanted || !keeper.holds().isEmpty()) {
                usedLately = false;
                return;
            }
            inUse = false;
            onUse.accept(false);
            closeSessionLater();
        } finally {
            lock.unlock();
        }
        driveAll();
    }

    /** Under the lock; the session is closed by the next step. */
    private void closeSessionLater() {
        BackendSession ended = keeper.end();
        BackendSession.Watch watch = wakeups.forget();
        work.chore(() -> {
            closeQuietly(watch);
            closeQuietly(ended);
        });
    }

    /**
     * Takes a call back: it ends without a permit, and what may be granted to it meanwhile goes to others.
     *
     * @return false if it had ended before
     */
    boolean withdraw(AcquireCall waiter) {
        lock.lock();
        try {
            if (waiter.isDone()) {
                return false;
            }
            leave(waiter);
            waiter.withdraw();
            work.headMayHaveChanged();
        } finally {
            lock.unlock();
        }
        combiner.passOn();
        return true;
    }

    /**
     * The time of a call is over. It ends, unless an answer to it may be on its way or the backend was not asked for it yet: then
     * it has a moment more, for that answer or for one attempt.
     */
    void expire(AcquireCall waiter) {
        lock.lock();
        try {
            if (waiter.isDone()) {
                return;
            }
            leave(waiter);
            boolean hopes = waiter.isInFlight() || !waiter.isAttempted();
            if (hopes && !waiter.isExtended() && !outage.isOn()) {
                waiter.extendTo(Deadline.at(now() + MOMENT_NANOS));
                waiter.makeOnce();
                if (!waiter.isInFlight()) {
                    queue.add(waiter);
                    work.arrived(waiter);
                }
            } else {
                RuntimeException failure = outage.endOf(waiter);
                if (failure == null) {
                    waiter.refuse();
                } else {
                    waiter.fail(failure);
                }
            }
            work.headMayHaveChanged();
        } finally {
            lock.unlock();
        }
    }

    private void leave(AcquireCall waiter) {
        queue.remove(waiter);
        if (!queue.isAnyoneWaiting()) {
            wakeups.lastWaiterLeft();
        }
    }

    /** Releases permits and waits until each is reported; an interrupt is kept for the caller. */
    List<PendingRelease> release(List<HeldPermit> permits) {
        Thread caller = Thread.currentThread();
        List<PendingRelease> releases = beginRelease(permits, afterwards(() -> environment.unpark(caller)));
        environment.checkpoint();
        combiner.driveUntil(() -> releases.stream().allMatch(PendingRelease::isReported));
        return releases;
    }

    /** Releases permits for a caller that expects no exception. */
    void releaseQuietly(List<HeldPermit> permits) {
        for (PendingRelease release : release(permits)) {
            try {
                release.outcome();
            } catch (RuntimeException e) {
                LOG.warn(
                        "Release of slot {} of semaphore '{}' is not confirmed yet: {}",
                        release.hold().hold().slot(),
                        name,
                        e.getMessage());
            }
        }
    }

    /** Releases permits without waiting, and without a thread that waits. The future completes on a worker. */
    <T> CompletableFuture<T> releaseAsync(List<HeldPermit> permits, Function<List<PendingRelease>, T> outcome) {
        CompletableFuture<T> released = new CompletableFuture<>();
        AtomicInteger left = new AtomicInteger(permits.size());
        lock.lock();
        try {
            List<PendingRelease> releases = new ArrayList<>(permits.size());
            Runnable complete =
                    afterwards(() -> Questions.askFor(environment, released, () -> outcome.apply(releases)));
            releases.addAll(beginRelease(permits, () -> {
                if (left.decrementAndGet() == 0) {
                    complete.run();
                }
            }));
        } finally {
            lock.unlock();
        }
        combiner.passOn();
        return released;
    }

    /** What is run when one of them is reported runs under the lock. */
    private List<PendingRelease> beginRelease(List<HeldPermit> permits, Runnable whenReported) {
        List<PendingRelease> releases = new ArrayList<>(permits.size());
        lock.lock();
        try {
            use();
            for (HeldPermit permit : permits) {
                PendingRelease release = new PendingRelease(permit.hold(), whenReported);
                releases.add(release);
                switch (permit.state()) {
                    case HELD -> exchanges.giveUp(permit, release);
                    case RELEASED -> release.done(ReleaseOutcome.ALREADY_RELEASED);
                    case LOST -> release.done(ReleaseOutcome.WAS_LOST);
                }
            }
        } finally {
            lock.unlock();
        }
        return releases;
    }

    /** Releases permits in the background. */
    void releaseLater(List<HeldPermit> permits) {
        lock.lock();
        try {
            for (HeldPermit permit : permits) {
                if (permit.state() == HeldPermit.State.HELD) {
                    exchanges.giveUp(permit, new PendingRelease(permit.hold(), () -> {}));
                }
            }
        } finally {
            lock.unlock();
        }
        combiner.passOn();
    }

    /** Does what there is to do on the thread of a call, which must not wait for the backend, see {@link Combiner#drive}. */
    void drive(BooleanSupplier done, AcquireCall caller) {
        combiner.drive(done, caller);
    }

    /** Does what there is to do, then waits for other threads that do, until done. An interrupt is kept for the caller. */
    void driveUntil(BooleanSupplier done) {
        combiner.driveUntil(done);
    }

    /** Does all there is to do, on a thread that may wait. */
    void driveAll() {
        combiner.drive(() -> false, null);
    }

    /** Has another thread do what there is to do, see {@link Combiner#passOn}. */
    void passOn() {
        combiner.passOn();
    }

    /** The session is gone, all holds with it. */
    void sessionEnded(int generation, String reason) {
        lock.lock();
        try {
            if (generation != keeper.generation()) {
                return;
            }
            for (SlotHold hold : List.copyOf(keeper.holds())) {
                losses.lose(hold, LossCause.SESSION_ENDED, reason);
            }
            ledger.sessionEnded();
            closeSessionLater();
            exchanges.sessionEnded();
        } finally {
            lock.unlock();
        }
        environment.execute(this::driveAll);
    }

    /** An adapter that throws here keeps nothing else from being closed. */
    private void closeQuietly(@Nullable AutoCloseable closeable) {
        try {
            if (closeable != null) {
                closeable.close();
            }
        } catch (Exception | Error e) {
            LOG.warn("The backend failed to close something of semaphore '{}'", name, e);
        }
    }

    boolean isCurrent(int generation) {
        return !closed && generation == keeper.generation();
    }

    /** Under the lock: whether an answer may be on its way, or still has to be found out. */
    boolean isExchanging() {
        return combiner.isBusy() || work.unresolved() != null;
    }

    boolean isClosed() {
        return closed;
    }

    boolean isAnyoneWaiting() {
        return queue.isAnyoneWaiting();
    }

    /** Under the lock: something may have become free. */
    void ask() {
        work.ask();
    }

    /** Under the lock: the backend says that something may have become free. */
    void hinted() {
        work.resume();
    }

    /** Under the lock: the backend answered, though not to an exchange. */
    void answered() {
        outage.mayBeOver();
    }

    /** An administrator of this client changed the semaphore: slots above the limit are not handed on, waiters look again. */
    void resized(int limit) {
        lock.lock();
        try {
            for (SlotHold hold : keeper.holds()) {
                if (hold.hold().slot() > limit) {
                    hold.retire(now());
                }
            }
            work.ask();
        } finally {
            lock.unlock();
        }
        environment.execute(this::driveAll);
    }

    /** Gives everything back and ends the session; returns when that is done or was tried. */
    void close() {
        List<PendingRelease> releases = new ArrayList<>();
        Thread caller = Thread.currentThread();
        lock.lock();
        try {
            if (!markClosed()) {
                return;
            }
            for (SlotHold hold : List.copyOf(keeper.holds())) {
                PendingRelease release = new PendingRelease(hold, afterwards(() -> environment.unpark(caller)));
                HeldPermit permit = hold.permit();
                if (permit != null) {
                    permit.markReleased();
                }
                releases.add(release);
                exchanges.giveBack(release);
            }
        } finally {
            lock.unlock();
        }
        combiner.driveUntil(() -> releases.stream().allMatch(PendingRelease::isReported));
        combiner.awaitRest();
        endSession(false);
    }

    /** Ends the session as if the process had died. */
    void abort() {
        lock.lock();
        try {
            if (!markClosed()) {
                return;
            }
            for (SlotHold hold : List.copyOf(keeper.holds())) {
                losses.lose(hold, LossCause.CLIENT_ABORTED, "the client was aborted");
            }
        } finally {
            lock.unlock();
        }
        endSession(true);
    }

    private boolean markClosed() {
        if (closed) {
            return false;
        }
        closed = true;
        queue.takeAll().forEach(waiter -> waiter.fail(Failures.closed(name)));
        return true;
    }

    private void endSession(boolean abort) {
        BackendSession.Watch watch;
        BackendSession session;
        lock.lock();
        try {
            watch = wakeups.forget();
            session = keeper.end();
            exchanges.sessionEnded();
        } finally {
            lock.unlock();
        }
        if (abort && session != null) {
            // First, so that the end of the watch waits for nothing.
            closeQuietly(session::abort);
        }
        closeQuietly(watch);
        if (!abort) {
            closeQuietly(session);
        }
    }

    /** Ends the calls that want permits and refuses those to come; what is granted to them meanwhile goes back. Holds stay. */
    void stopAcquiring() {
        lock.lock();
        try {
            acquiringStopped = true;
            queue.takeAll().forEach(waiter -> waiter.fail(Failures.stopped(name)));
            wakeups.lastWaiterLeft();
            work.headMayHaveChanged();
        } finally {
            lock.unlock();
        }
        combiner.passOn();
    }
}
