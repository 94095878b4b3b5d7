package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeResult;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What goes to the backend, and when: collects what is pending into a request, performs it, and gives the answers to those
 * they are for. Guarded by the coordinator's lock, but for the steps that {@link #next} returns, which take it themselves and of
 * which one runs at a time.
 */
final class Exchanges {
    private static final Logger LOG = LoggerFactory.getLogger(Exchanges.class);

    /** How long after a failure the backend is asked again for what nobody waits for. */
    private static final long RETRY_NANOS = 200_000_000;

    private final Coordinator coordinator;
    private final ReentrantLock lock;
    private final WaitQueue queue;
    private final SessionKeeper keeper;
    private final Wakeups wakeups;
    private final Environment environment;
    private final Settlement settlement;
    private final HandOff handOff;
    private final long turnNanos;

    private final List<Returning> returns = new ArrayList<>();
    private boolean returnsDue;

    /** The waiters are to be asked for. */
    private boolean ask;

    /** Until then other clients have their turn. */
    private Deadline notBefore;

    private boolean othersWaiting;

    /** An exchange of which nobody knows whether it was done; nothing else is asked before that is known. */
    private @Nullable Batch unresolved;

    private boolean resolveDue;
    private boolean retryPlanned;

    Exchanges(
            Coordinator coordinator,
            ReentrantLock lock,
            WaitQueue queue,
            SessionKeeper keeper,
            Wakeups wakeups,
            Environment environment,
            ClientSettings settings) {
        this.coordinator = coordinator;
        this.lock = lock;
        this.queue = queue;
        this.keeper = keeper;
        this.wakeups = wakeups;
        this.environment = environment;
        this.settlement = new Settlement(coordinator, queue, keeper, this, environment);
        this.handOff = new HandOff(settings);
        this.turnNanos = settings.turn().toNanos();
        this.notBefore = Deadline.at(environment.nanoTime());
    }

    /** A call with one attempt, or the first to wait: reason to ask the backend. */
    void arrived(Waiter waiter) {
        ask |= !waiter.isOnce();
        resolveDue = true;
    }

    void ask() {
        ask = true;
    }

    /** Somebody left the queue: whoever is first now may be somebody the backend was not asked for. */
    void headMayHaveChanged() {
        Waiter head = queue.head();
        ask |= head != null && !head.isAttempted();
    }

    /** A permit is released: its slot passes to a local waiter, or goes back. */
    void giveUp(HeldPermit permit, Returning returning) {
        permit.markReleased();
        SlotHold hold = permit.hold();
        long now = environment.nanoTime();
        Waiter head = queue.head();
        if (head == null || head.wanted() > 1 || coordinator.isClosed()) {
            ask |= head != null;
            giveBack(returning);
        } else if (handOff.allows(hold, now)) {
            queue.remove(head);
            head.grant(List.of(hold.issue(coordinator)));
            returning.done(ReleaseOutcome.RELEASED);
            headMayHaveChanged();
        } else {
            giveBack(returning);
            ask = true;
            if (othersWaiting && turnNanos > 0) {
                notBefore = Deadline.at(now + turnNanos / 2 + environment.random(turnNanos));
            }
        }
    }

    void giveBack(Returning returning) {
        keeper.remove(returning.hold());
        returns.add(returning);
        returnsDue = true;
        resolveDue = true;
    }

    /** The backend does not hint a client at what it gave back itself: those who wait are asked for. */
    void giveBackUnasked(SlotHold hold) {
        ask = true;
        giveBack(new Returning(hold, () -> {}));
    }

    /** What the old session held is gone, pending or not. */
    void sessionEnded() {
        returns.forEach(returning -> returning.done(ReleaseOutcome.WAS_LOST));
        returns.clear();
        Batch open = unresolved;
        unresolved = null;
        if (open != null) {
            open.returns().forEach(returning -> returning.done(ReleaseOutcome.WAS_LOST));
            failAttempts(open, Failures.sessionLost(coordinator));
        }
        ask = true;
    }

    boolean hasWork() {
        if (unresolved != null) {
            return resolveDue;
        }
        return queue.hasAttempts()
                || (returnsDue && !returns.isEmpty())
                || (wakeups.isIdle() && !queue.isAnyoneWaiting())
                || mayAskForWaiters();
    }

    private boolean mayAskForWaiters() {
        if (!ask || !queue.isAnyoneWaiting()) {
            return false;
        }
        if (notBefore.isPast(environment.nanoTime())) {
            return true;
        }
        // Whatever else there is to wake up for, somebody has to look when the turn of the others is over.
        wakeups.by(notBefore);
        return false;
    }

    /** The next thing to do, to be run without the lock; null if there is none. */
    @Nullable
    Runnable next() {
        if (!hasWork()) {
            return null;
        }
        Batch open = unresolved;
        if (open != null) {
            resolveDue = false;
            return () -> resolve(open);
        }
        if (wakeups.isIdle() && !queue.isAnyoneWaiting()) {
            BackendSession.Watch idle = wakeups.forget();
            return idle == null ? () -> {} : idle::close;
        }
        Batch batch = collect();
        return () -> perform(batch);
    }

    private Batch collect() {
        List<Waiter> waiters = queue.takeAttempts();
        if (mayAskForWaiters()) {
            ask = false;
            waiters.addAll(queue.front());
        }
        waiters.forEach(Waiter::sent);
        List<Returning> returning = List.copyOf(returns);
        returns.clear();
        returnsDue = false;
        return Batch.of(
                returning,
                waiters,
                handOff.epochs(),
                queue.isAnyoneWaiting(),
                keeper.generation(),
                environment.nanoTime());
    }

    private void perform(Batch batch) {
        BackendSession session;
        ExchangeResult result;
        try {
            session = keeper.open(batch.generation());
            if (session == null) {
                again(batch);
                return;
            }
            result = batch.checked(session.exchange(batch.request()));
        } catch (RuntimeException | Error e) {
            failed(batch, Failures.ofBackend(e));
            return;
        }
        settle(batch, result);
        watchIfRefused(session, batch.generation());
    }

    private void resolve(Batch batch) {
        BackendSession session;
        ExchangeResult result;
        try {
            session = keeper.open(batch.generation());
            if (session == null) {
                return;
            }
            result = batch.checked(session.resolve(batch.request()));
        } catch (RuntimeException | Error e) {
            stillUnresolved(batch, Failures.ofBackend(e));
            return;
        }
        LOG.info("The exchange of unknown outcome at semaphore '{}' is resolved", coordinator.name());
        forgetUnresolved();
        settle(batch, result);
        watchIfRefused(session, batch.generation());
    }

    /** The session ended before the batch was sent: what it held is gone, what it wants goes into the next one. */
    private void again(Batch batch) {
        lock.lock();
        try {
            batch.returns().forEach(returning -> returning.done(ReleaseOutcome.WAS_LOST));
            for (Waiter waiter : batch.waiters()) {
                waiter.answered();
                if (!waiter.isDone() && waiter.isOnce()) {
                    queue.add(waiter);
                }
            }
            ask = true;
        } finally {
            lock.unlock();
        }
    }

    private void forgetUnresolved() {
        lock.lock();
        try {
            unresolved = null;
        } finally {
            lock.unlock();
        }
    }

    private void settle(Batch batch, ExchangeResult result) {
        environment.checkpoint();
        lock.lock();
        try {
            for (Returning returning : batch.returns()) {
                boolean lost = result.lost().contains(returning.hold().hold());
                returning.done(lost ? ReleaseOutcome.WAS_LOST : ReleaseOutcome.RELEASED);
            }
            othersWaiting = result.othersWaiting();
            boolean allGranted = true;
            for (int i = 0; i < batch.waiters().size(); i++) {
                Waiter waiter = batch.waiters().get(i);
                waiter.answered();
                allGranted &= settlement.answer(waiter, result.answers().get(i), batch, result.validUntil());
            }
            keeper.forgetLost();
            ask |= allGranted && !batch.waiters().isEmpty();
            if (queue.isAnyoneWaiting()) {
                wakeups.afterRefusal(result.recheck());
            }
        } finally {
            lock.unlock();
        }
    }

    /** Who was refused is watched for; and what was freed before the watch began would go unnoticed without a second look. */
    private void watchIfRefused(BackendSession session, int generation) {
        lock.lock();
        try {
            if (!queue.isAnyoneWaiting() || !wakeups.needsWatch()) {
                return;
            }
        } finally {
            lock.unlock();
        }
        wakeups.open(session, generation);
        lock.lock();
        try {
            ask = true;
        } finally {
            lock.unlock();
        }
    }

    private void failed(Batch batch, RuntimeException failure) {
        environment.checkpoint();
        lock.lock();
        try {
            batch.waiters().forEach(Waiter::answered);
            if (batch.generation() != keeper.generation()) {
                batch.returns().forEach(returning -> returning.done(ReleaseOutcome.WAS_LOST));
                failAttempts(batch, coordinator.isClosed() ? Failures.closed(coordinator.name()) : failure);
                ask = true;
            } else if (Failures.isCertain(failure)) {
                LOG.debug("Exchange at semaphore '{}' failed", coordinator.name(), failure);
                failAttempts(batch, failure);
                failWaiting(failure);
                postpone(batch.returns(), failure);
            } else {
                LOG.info("The outcome of an exchange at semaphore '{}' is unknown", coordinator.name(), failure);
                unresolved = batch;
                resolveDue = true;
            }
        } finally {
            lock.unlock();
        }
    }

    private void stillUnresolved(Batch batch, RuntimeException failure) {
        environment.checkpoint();
        lock.lock();
        try {
            if (unresolved == null) {
                return;
            }
            RuntimeException unknown = Failures.unknown(coordinator.name(), failure);
            failAttempts(batch, unknown);
            queue.takeAttempts().forEach(waiter -> waiter.fail(unknown));
            failWaiting(unknown);
            RuntimeException unconfirmed = Failures.unconfirmed(coordinator.name(), failure);
            batch.returns().forEach(returning -> returning.failed(unconfirmed));
            returns.forEach(returning -> returning.failed(unconfirmed));
            retryLater();
        } finally {
            lock.unlock();
        }
    }

    private void failAttempts(Batch batch, RuntimeException failure) {
        for (Waiter waiter : batch.waiters()) {
            if (!waiter.isDone() && waiter.isOnce()) {
                waiter.fail(failure);
            }
        }
    }

    private void failWaiting(RuntimeException failure) {
        for (Waiter head = queue.head(); head != null; head = queue.head()) {
            queue.remove(head);
            head.fail(failure);
        }
    }

    /** Holds that could not be given back now stay pending; their callers do not wait for it. */
    private void postpone(List<Returning> postponed, RuntimeException failure) {
        if (postponed.isEmpty()) {
            return;
        }
        RuntimeException unconfirmed = Failures.unconfirmed(coordinator.name(), failure);
        postponed.forEach(returning -> returning.failed(unconfirmed));
        returns.addAll(postponed);
        retryLater();
    }

    private void retryLater() {
        if (retryPlanned) {
            return;
        }
        retryPlanned = true;
        environment.schedule(this::retry, RETRY_NANOS / 2 + environment.random(RETRY_NANOS));
    }

    private void retry() {
        lock.lock();
        try {
            retryPlanned = false;
            returnsDue = true;
            resolveDue = true;
        } finally {
            lock.unlock();
        }
        coordinator.driveAll();
    }
}
