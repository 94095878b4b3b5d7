package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeResult;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What goes to the backend: performs the requests that the {@link Agenda} says are due, and gives the answers to those they are
 * for. Guarded by the coordinator's lock, but for the steps that {@link #next} returns, which take it themselves and of
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
    private final Agenda agenda;
    private boolean retryPlanned;

    Exchanges(
            Coordinator coordinator,
            ReentrantLock lock,
            WaitQueue queue,
            SessionKeeper keeper,
            Wakeups wakeups,
            Agenda agenda,
            Environment environment,
            ClientSettings settings) {
        this.coordinator = coordinator;
        this.lock = lock;
        this.queue = queue;
        this.keeper = keeper;
        this.wakeups = wakeups;
        this.agenda = agenda;
        this.environment = environment;
        this.settlement = new Settlement(coordinator, queue, keeper, this, agenda, environment);
        this.handOff = new HandOff(settings);
    }

    /** A permit is released: its slot passes to a local waiter, or goes back. */
    void giveUp(HeldPermit permit, Returning returning) {
        permit.markReleased();
        SlotHold hold = permit.hold();
        long now = environment.nanoTime();
        Waiter head = queue.head();
        if (head == null || head.wanted() > 1 || coordinator.isClosed() || isServedElsewhere(head)) {
            if (head != null) {
                agenda.ask();
            }
            giveBack(returning);
        } else if (handOff.allows(hold, now)) {
            queue.remove(head);
            head.grant(List.of(hold.issue(coordinator)));
            returning.done(ReleaseOutcome.RELEASED);
            agenda.headMayHaveChanged();
        } else {
            giveBack(returning);
            BackendSession session = keeper.session();
            agenda.askAfterTurnOfOthers(now, session != null && session.servesInOrder());
        }
    }

    /**
     * The backend may be granting the head a slot at this moment. With nobody behind it to take that one it would be held for nobody,
     * and others be refused meanwhile.
     */
    private boolean isServedElsewhere(Waiter head) {
        return head.isInFlight() && !queue.isNextForOne();
    }

    void giveBack(Returning returning) {
        keeper.remove(returning.hold());
        agenda.giveBack(returning);
    }

    /** The backend does not hint a client at what it gave back itself: those who wait are asked for. */
    void giveBackUnasked(SlotHold hold) {
        agenda.ask();
        giveBack(new Returning(hold, () -> {}));
    }

    /** What the old session held is gone, pending or not. */
    void sessionEnded() {
        agenda.takePending().forEach(returning -> returning.done(ReleaseOutcome.WAS_LOST));
        Batch open = agenda.unresolved();
        agenda.resolved();
        if (open != null) {
            open.returns().forEach(returning -> returning.done(ReleaseOutcome.WAS_LOST));
            open.failAttempts(Failures.sessionLost(coordinator));
        }
        agenda.ask();
    }

    boolean hasWork() {
        return agenda.hasWork();
    }

    /** Has the thread that waits first do what there is to do; returns false if no thread waits. */
    boolean callHead() {
        Waiter head = queue.head();
        return head != null && head.call();
    }

    /** The next thing to do, to be run without the lock; null if there is none. */
    @Nullable
    Runnable next() {
        if (!agenda.hasWork()) {
            return null;
        }
        Batch open = agenda.takeUnresolved();
        if (open != null) {
            return () -> resolve(open);
        }
        if (agenda.mayEndWatch()) {
            BackendSession.Watch idle = wakeups.forget();
            return idle == null ? () -> {} : idle::close;
        }
        Batch batch = agenda.collect(handOff.epochs(), keeper.generation());
        return () -> perform(batch);
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
            failed(batch, Failures.ofBackend(coordinator.name(), e));
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
            stillUnresolved(batch, Failures.ofBackend(coordinator.name(), e));
            return;
        }
        LOG.info("The exchange of unknown outcome at semaphore '{}' is resolved", coordinator.name());
        lock.lock();
        try {
            agenda.resolved();
        } finally {
            lock.unlock();
        }
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
            agenda.ask();
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
            agenda.othersWaiting(result.othersWaiting());
            boolean allGranted = true;
            for (int i = 0; i < batch.waiters().size(); i++) {
                Waiter waiter = batch.waiters().get(i);
                waiter.answered();
                allGranted &= settlement.answer(waiter, result.answers().get(i), batch, result);
            }
            keeper.forgetLost();
            if (allGranted && !batch.waiters().isEmpty()) {
                agenda.ask();
            }
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
            agenda.ask();
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
                batch.failAttempts(coordinator.isClosed() ? Failures.closed(coordinator.name()) : failure);
                agenda.ask();
            } else if (Failures.isCertain(failure)) {
                LOG.debug("Exchange at semaphore '{}' failed", coordinator.name(), failure);
                batch.failAttempts(failure);
                queue.failWaiting(failure);
                postpone(batch.returns(), failure);
            } else {
                String name = coordinator.name();
                LOG.info(
                        "The outcome of an exchange at semaphore '{}' is unknown, it is found out: {}",
                        name,
                        failure.toString());
                LOG.debug("Why the outcome at semaphore '{}' is unknown", name, failure);
                agenda.resolveFirst(batch);
            }
        } finally {
            lock.unlock();
        }
    }

    private void stillUnresolved(Batch batch, RuntimeException failure) {
        environment.checkpoint();
        lock.lock();
        try {
            if (agenda.unresolved() == null) {
                return;
            }
            RuntimeException unknown = Failures.unknown(coordinator.name(), failure);
            batch.failAttempts(unknown);
            queue.takeAttempts().forEach(waiter -> waiter.fail(unknown));
            queue.failWaiting(unknown);
            RuntimeException unconfirmed = Failures.unconfirmed(coordinator.name(), failure);
            batch.returns().forEach(returning -> returning.failed(unconfirmed));
            agenda.pending().forEach(returning -> returning.failed(unconfirmed));
            retryLater();
        } finally {
            lock.unlock();
        }
    }

    /** Holds that could not be given back now stay pending; their callers do not wait for it. */
    private void postpone(List<Returning> postponed, RuntimeException failure) {
        if (postponed.isEmpty()) {
            return;
        }
        RuntimeException unconfirmed = Failures.unconfirmed(coordinator.name(), failure);
        postponed.forEach(returning -> returning.failed(unconfirmed));
        agenda.keep(postponed);
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
            agenda.retry();
        } finally {
            lock.unlock();
        }
        coordinator.driveAll();
    }
}
