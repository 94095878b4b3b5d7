package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeResult;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What goes to the backend: performs the requests that the {@link PendingWork} says are due, and gives the answers to those they are
 * for. Guarded by the coordinator's lock, but for the steps that {@link #next} returns, which take it themselves and of
 * which one runs at a time.
 */
final class Exchanges {
    private static final Logger LOG = LoggerFactory.getLogger(Exchanges.class);

    private final Coordinator coordinator;
    private final ReentrantLock lock;
    private final WaitQueue queue;
    private final SessionKeeper keeper;
    private final Wakeups wakeups;
    private final Environment environment;
    private final Settlement settlement;
    private final HandOff handOff;
    private final PendingWork work;
    private final Outage outage;

    /** Whether the last exchange that a caller wanted to begin without waiting could be. */
    private volatile boolean canBegin = true;

    Exchanges(
            Coordinator coordinator,
            ReentrantLock lock,
            WaitQueue queue,
            SessionKeeper keeper,
            Wakeups wakeups,
            PendingWork work,
            Outage outage,
            Environment environment,
            ClientSettings settings) {
        this.coordinator = coordinator;
        this.lock = lock;
        this.queue = queue;
        this.keeper = keeper;
        this.wakeups = wakeups;
        this.work = work;
        this.outage = outage;
        this.environment = environment;
        this.settlement = new Settlement(coordinator, queue, keeper, this, work, environment);
        this.handOff = new HandOff(settings);
    }

    /** A permit is released: its slot passes to a local waiter, or goes back. */
    void giveUp(HeldPermit permit, PendingRelease release) {
        permit.markReleased();
        SlotHold hold = permit.hold();
        long now = environment.nanoTime();
        AcquireCall head = queue.head();
        if (head == null || head.wanted() > 1 || coordinator.isClosed() || isServedElsewhere(head)) {
            if (head != null) {
                work.ask();
            }
            giveBack(release);
        } else if (handOff.allows(hold, now)) {
            queue.remove(head);
            head.grant(List.of(hold.issue(coordinator)));
            release.done(ReleaseOutcome.RELEASED);
            work.headMayHaveChanged();
        } else {
            giveBack(release);
            BackendSession session = keeper.session();
            work.askAfterTurnOfOthers(now, session != null && session.servesInOrder());
        }
    }

    /**
     * The backend may be granting the head a slot at this moment. With nobody behind it to take that one it would be held for nobody,
     * and others be refused meanwhile.
     */
    private boolean isServedElsewhere(AcquireCall head) {
        return head.isInFlight() && !queue.isNextForOne();
    }

    void giveBack(PendingRelease release) {
        keeper.remove(release.hold());
        work.giveBack(release);
    }

    /** The backend does not hint a client at what it gave back itself, so it is asked again for waiting callers. */
    void giveBackUnasked(SlotHold hold) {
        work.ask();
        giveBack(new PendingRelease(hold, () -> {}));
    }

    /** What the old session held is gone, pending or not. */
    void sessionEnded() {
        work.takePending().forEach(release -> release.done(ReleaseOutcome.WAS_LOST));
        Batch open = work.unresolved();
        work.resolved();
        if (open != null) {
            open.releases().forEach(release -> release.done(ReleaseOutcome.WAS_LOST));
            open.failAttempts(Failures.sessionLost(coordinator));
        }
        work.ask();
    }

    /** Returns whether something is to be done now, see {@link PendingWork#look}. */
    boolean lookForWork() {
        return work.look();
    }

    /** Has the thread that waits first do what there is to do; returns false if no thread waits that could do it. */
    boolean callHead() {
        AcquireCall head = canBegin ? queue.head() : null;
        return head != null && head.call();
    }

    /** The next thing to do; null if there is none. */
    Combiner.@Nullable Step next() {
        if (!work.look()) {
            return null;
        }
        Batch open = work.takeUnresolved();
        if (open != null) {
            return () -> resolve(open);
        }
        Runnable chore = work.takeChore();
        if (chore != null) {
            return chore::run;
        }
        BackendSession session = keeper.session();
        int generation = keeper.generation();
        if (session != null && work.takeWatch()) {
            return () -> watch(session, generation);
        }
        if (work.mayEndWatch()) {
            BackendSession.Watch idle = wakeups.forget();
            return idle == null ? () -> {} : idle::close;
        }
        return new Exchange(work.collect(handOff.epochs(), generation), session);
    }

    /** One request and its answer. */
    private final class Exchange implements Combiner.Step {
        private final Batch batch;
        private final @Nullable BackendSession known;

        Exchange(Batch batch, @Nullable BackendSession known) {
            this.batch = batch;
            this.known = known;
        }

        @Override
        public void perform() {
            ExchangeResult result;
            try {
                BackendSession session = keeper.open(batch.generation());
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
        }

        @Override
        public @Nullable CompletionStage<Runnable> begin() {
            if (known == null || batch.generation() != keeper.generation()) {
                return null;
            }
            CompletionStage<ExchangeResult> started;
            try {
                started = known.start(batch.request());
            } catch (RuntimeException | Error e) {
                landed(null, e);
                return Combiner.ENDED;
            }
            canBegin = started != null;
            if (started == null) {
                return null;
            }
            CompletableFuture<ExchangeResult> future = started.toCompletableFuture();
            if (future.isDone() && !future.isCompletedExceptionally()) {
                landed(future.join(), null);
                return Combiner.ENDED;
            }
            return started.handle((result, failure) -> () -> landed(result, failure));
        }

        private void landed(@Nullable ExchangeResult result, @Nullable Throwable failure) {
            ExchangeResult checked;
            try {
                if (result == null) {
                    throw failure instanceof CompletionException && failure.getCause() != null
                            ? failure.getCause()
                            : Objects.requireNonNull(failure, "an exchange that was started ends without a result");
                }
                checked = batch.checked(result);
            } catch (Throwable e) {
                failed(batch, Failures.ofBackend(coordinator.name(), e));
                return;
            }
            settle(batch, checked);
        }
    }

    private void resolve(Batch batch) {
        ExchangeResult result;
        try {
            BackendSession session = keeper.open(batch.generation());
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
            work.resolved();
        } finally {
            lock.unlock();
        }
        settle(batch, result);
    }

    /** The session ended before the batch was sent: what it held is gone, what it wants goes into the next one. */
    private void again(Batch batch) {
        lock.lock();
        try {
            batch.releases().forEach(release -> release.done(ReleaseOutcome.WAS_LOST));
            for (AcquireCall waiter : batch.waiters()) {
                waiter.answered();
                if (!waiter.isDone() && waiter.isOnce()) {
                    queue.add(waiter);
                }
            }
            work.ask();
        } finally {
            lock.unlock();
        }
    }

    private void settle(Batch batch, ExchangeResult result) {
        environment.checkpoint();
        lock.lock();
        try {
            outage.over();
            coordinator.ledger().exchanged(batch, true);
            for (PendingRelease release : batch.releases()) {
                boolean lost = result.lost().contains(release.hold().hold());
                release.done(lost ? ReleaseOutcome.WAS_LOST : ReleaseOutcome.RELEASED);
            }
            work.othersWaiting(result.othersWaiting());
            if (!result.yieldFor().isZero()) {
                work.yieldUntil(Deadline.after(environment.nanoTime(), result.yieldFor()));
            }
            boolean allGranted = true;
            for (int i = 0; i < batch.waiters().size(); i++) {
                AcquireCall waiter = batch.waiters().get(i);
                waiter.answered();
                allGranted &= settlement.answer(waiter, result.answers().get(i), batch, result);
            }
            keeper.forgetLost();
            if (allGranted && !batch.waiters().isEmpty()) {
                work.ask();
            }
            if (queue.isAnyoneWaiting()) {
                wakeups.afterRefusal(result.recheck(), result.ahead());
                work.watch();
            }
        } finally {
            lock.unlock();
        }
    }

    private void watch(BackendSession session, int generation) {
        wakeups.open(session, generation);
        lock.lock();
        try {
            work.ask();
        } finally {
            lock.unlock();
        }
    }

    private void failed(Batch batch, RuntimeException failure) {
        environment.checkpoint();
        lock.lock();
        try {
            coordinator.ledger().exchanged(batch, false);
            batch.waiters().forEach(AcquireCall::answered);
            if (batch.generation() != keeper.generation()) {
                batch.releases().forEach(release -> release.done(ReleaseOutcome.WAS_LOST));
                batch.failAttempts(coordinator.isClosed() ? Failures.closed(coordinator.name()) : failure);
                waitOn(batch, failure);
            } else if (Failures.isCertain(failure)) {
                logLater(() -> LOG.debug("Exchange at semaphore '{}' failed", coordinator.name(), failure));
                batch.failAttempts(failure);
                failLeftOut(batch, failure);
                postpone(batch.releases(), failure);
                waitOn(batch, failure);
            } else {
                logUnknown(failure);
                work.resolveFirst(batch);
            }
        } finally {
            lock.unlock();
        }
    }

    /** What was due when the request was sent and found no room in it would wait for one time-out after the other. */
    private void failLeftOut(Batch batch, RuntimeException failure) {
        if (!Outage.mayPass(failure)) {
            return;
        }
        RuntimeException notSent = Failures.notSent(coordinator.name(), failure);
        queue.takeAttemptsUntil(batch.sent()).forEach(waiter -> waiter.fail(notSent));
        List<PendingRelease> postponed = work.postponeLeftOut();
        if (!postponed.isEmpty()) {
            RuntimeException unconfirmed = Failures.unconfirmed(coordinator.name(), failure);
            postponed.forEach(release -> release.failed(unconfirmed));
            outage.retryLater();
        }
    }

    /** Waiting callers go on, unless waiting cannot help. */
    private void waitOn(Batch batch, RuntimeException failure) {
        if (Outage.mayPass(failure)) {
            outage.began(batch.sent(), failure);
        } else {
            queue.failWaiting(failure);
        }
    }

    private void stillUnresolved(Batch batch, RuntimeException failure) {
        environment.checkpoint();
        lock.lock();
        try {
            if (work.unresolved() == null) {
                return;
            }
            batch.failAttempts(Failures.unknown(coordinator.name(), failure));
            RuntimeException notSent = Failures.notSent(coordinator.name(), failure);
            queue.takeAttempts().forEach(waiter -> waiter.fail(notSent));
            RuntimeException unconfirmed = Failures.unconfirmed(coordinator.name(), failure);
            batch.releases().forEach(release -> release.failed(unconfirmed));
            work.pending().forEach(release -> release.failed(unconfirmed));
            waitOn(batch, failure);
            outage.retryLater();
        } finally {
            lock.unlock();
        }
    }

    /** Holds that could not be given back now stay pending; their callers do not wait for it. */
    private void postpone(List<PendingRelease> postponed, RuntimeException failure) {
        if (postponed.isEmpty()) {
            return;
        }
        RuntimeException unconfirmed = Failures.unconfirmed(coordinator.name(), failure);
        postponed.forEach(release -> release.failed(unconfirmed));
        if (coordinator.isClosed()) {
            // The end of the session frees them. To try again and again would keep it from coming.
            return;
        }
        work.keep(postponed);
        outage.retryLater();
    }

    private void logUnknown(RuntimeException failure) {
        String name = coordinator.name();
        logLater(() -> {
            LOG.info(
                    "The outcome of an exchange at semaphore '{}' is unknown, it is found out: {}",
                    name,
                    failure.toString());
            LOG.debug("Why the outcome at semaphore '{}' is unknown", name, failure);
        });
    }

    /** A log may be slow, and no other thread is to wait for it. */
    private void logLater(Runnable message) {
        coordinator.afterwards(message).run();
    }
}
