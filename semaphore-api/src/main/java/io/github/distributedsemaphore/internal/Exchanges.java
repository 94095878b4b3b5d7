package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeResult;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * What goes to the backend, and what follows from its answers. Guarded by the coordinator's lock, but for the steps that
 * {@link #next} returns: of those one runs at a time, and each returns what is to be done under the lock.
 */
final class Exchanges implements Combiner.Work {
    private final String name;
    private final WaitQueue queue;
    private final PendingWork work;
    private final Wakeups wakeups;
    private final Slots slots;
    private final Outage outage;
    private final SessionKeeper keeper;
    private final Ledger ledger;

    /** Whether the last exchange that a caller wanted to begin without waiting could be. */
    private volatile boolean canBegin = true;

    /** A watch was due, and the last exchange went ahead of it and was answered. */
    private boolean watchGaveWay;

    Exchanges(
            String name,
            WaitQueue queue,
            PendingWork work,
            Wakeups wakeups,
            Slots slots,
            Outage outage,
            SessionKeeper keeper,
            Ledger ledger) {
        this.name = name;
        this.queue = queue;
        this.work = work;
        this.wakeups = wakeups;
        this.slots = slots;
        this.outage = outage;
        this.keeper = keeper;
        this.ledger = ledger;
    }

    @Override
    public boolean look() {
        if (work.unresolved() != null) {
            return work.isDue();
        }
        boolean due = work.isDue() || wakeups.isWatchDue();
        if (!due && !work.askLater().isNever()) {
            // Whatever else there is to wake up for, somebody has to look when the turn of the others is over.
            wakeups.by(work.askLater());
        }
        return due;
    }

    @Override
    public boolean wakeWaiter() {
        AcquireCall head = canBegin ? queue.head() : null;
        return head != null && head.wakeToDrive();
    }

    @Override
    public Combiner.@Nullable Step next() {
        if (!look()) {
            watchGaveWay = false;
            return null;
        }
        PendingWork.Batch open = work.takeUnresolved();
        if (open != null) {
            return () -> resolve(open);
        }
        Runnable chore = work.takeChore();
        if (chore != null) {
            return withNothingToFollow(chore);
        }
        BackendSession session = keeper.session();
        // At a silent server a watch would have an attempt or a release outlast its bound. Callers that come without a
        // pause do not keep the watch away while the server answers: it lets one exchange pass.
        Combiner.Step watching = watchGaveWay || !work.isCallerDue() ? watching(session) : null;
        watchGaveWay = wakeups.isWatchDue();
        return watching != null ? watching : new Exchange(work.collect(slots.epochs(), keeper.generation()), session);
    }

    /** Takes what is to be done about the watch; null if that is nothing. */
    private Combiner.@Nullable Step watching(@Nullable BackendSession session) {
        int generation = keeper.generation();
        if (session != null && wakeups.takeWatch()) {
            return () -> watch(session, generation);
        }
        if (wakeups.isWatchIdle()) {
            BackendSession.Watch idle = wakeups.forget();
            return withNothingToFollow(idle == null ? () -> leave(session) : idle::close);
        }
        return null;
    }

    private static Combiner.Step withNothingToFollow(Runnable action) {
        return () -> {
            action.run();
            return Combiner.NOTHING;
        };
    }

    /** The end of a watch gives up the client's place: here nobody waited for long enough to need one. */
    private void leave(@Nullable BackendSession session) {
        BackendSession.Watch opened = session == null ? null : wakeups.open(session);
        if (opened != null) {
            opened.close();
        }
    }

    private Runnable watch(BackendSession session, int generation) {
        BackendSession.Watch opened = wakeups.open(session);
        return () -> {
            if (generation == keeper.generation() && !queue.isClosed()) {
                wakeups.opened(opened);
            } else if (opened != null) {
                work.chore(opened::close);
            }
            work.ask();
        };
    }

    private Runnable resolve(PendingWork.Batch batch) {
        ExchangeResult result;
        try {
            BackendSession session = keeper.open(batch.generation());
            if (session == null) {
                return Combiner.NOTHING;
            }
            result = batch.checked(session.resolve(batch.request()));
        } catch (RuntimeException | Error e) {
            RuntimeException failure = Failures.ofBackend(name, e);
            return () -> outage.stillUnresolved(batch, failure);
        }
        return () -> {
            outage.resolved();
            work.resolved();
            // What it granted it granted then. What was sent to find that out decided nothing.
            settle(batch, result.toBuilder().sent(batch.sent()).build());
        };
    }

    /** One request and its answer. */
    private final class Exchange implements Combiner.Step {
        private final PendingWork.Batch batch;
        private final @Nullable BackendSession known;

        Exchange(PendingWork.Batch batch, @Nullable BackendSession known) {
            this.batch = batch;
            this.known = known;
        }

        private @Nullable BackendSession known() {
            return batch.generation() == keeper.generation() ? known : null;
        }

        @Override
        public Runnable perform() {
            ExchangeResult result;
            try {
                BackendSession session = known();
                if (session == null) {
                    session = keeper.open(batch.generation());
                }
                if (session == null) {
                    return () -> outage.notSent(batch);
                }
                result = session.exchange(batch.request());
            } catch (RuntimeException | Error e) {
                return failed(e);
            }
            return answered(result);
        }

        @Override
        public @Nullable CompletableFuture<Runnable> begin() {
            BackendSession session = known();
            if (session == null) {
                return null;
            }
            CompletionStage<ExchangeResult> started;
            try {
                started = session.start(batch.request());
            } catch (RuntimeException | Error e) {
                return CompletableFuture.completedFuture(failed(e));
            }
            canBegin = started != null;
            return started == null ? null : started.handle(this::landed).toCompletableFuture();
        }

        private Runnable landed(@Nullable ExchangeResult result, @Nullable Throwable failure) {
            if (result != null) {
                return answered(result);
            }
            Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
            return failed(Objects.requireNonNullElseGet(
                    cause, () -> new NullPointerException("an exchange that was started ends without a result")));
        }

        private Runnable answered(ExchangeResult result) {
            ExchangeResult checked;
            try {
                checked = batch.checked(result);
            } catch (RuntimeException | Error e) {
                return failed(e);
            }
            return () -> settle(batch, checked);
        }

        private Runnable failed(Throwable thrown) {
            RuntimeException failure = Failures.ofBackend(name, thrown);
            return () -> {
                watchGaveWay = false;
                count(batch, false);
                outage.failed(batch, failure, batch.generation() == keeper.generation());
            };
        }
    }

    private void count(PendingWork.Batch batch, boolean answered) {
        ledger.exchanged(batch.calls().size(), batch.releases().size(), batch.sent(), answered);
    }

    private void settle(PendingWork.Batch batch, ExchangeResult result) {
        count(batch, true);
        for (PendingWork.Release release : batch.releases()) {
            boolean lost = result.lost().contains(release.hold().hold());
            release.done(lost ? ReleaseOutcome.WAS_LOST : ReleaseOutcome.RELEASED);
        }
        work.othersWait(result.othersWaiting());
        boolean allGranted = true;
        for (int i = 0; i < batch.calls().size(); i++) {
            AcquireCall call = batch.calls().get(i);
            call.answered();
            allGranted &= answer(call, result.answers().get(i), batch, result);
        }
        work.answered();
        slots.forgetLost();
        if (allGranted && !batch.calls().isEmpty()) {
            work.ask();
        }
        // Who came meanwhile may be the first now, and would wait for a timer.
        work.headMayHaveChanged();
        // Timers are set last. One that finds no memory keeps no call from its answer.
        if (slots.isAnythingHeld()) {
            keeper.keepRenewing();
            slots.watchOver(result.validUntil());
        }
        outage.over();
        if (batch.generation() == keeper.generation()) {
            lookForWaiters(batch, result);
        }
    }

    private void lookForWaiters(PendingWork.Batch batch, ExchangeResult result) {
        List<Answer> answers = result.answers();
        if (queue.isAnyoneWaiting()) {
            wakeups.afterRefusal(result.recheck(), result.ahead());
        } else if (batch.request().waiting() && (answers.contains(Answer.FULL) || answers.contains(Answer.NOT_DONE))) {
            wakeups.refusedTooLate();
        }
    }

    /** Returns whether it was granted. */
    private boolean answer(AcquireCall call, Answer answer, PendingWork.Batch batch, ExchangeResult result) {
        if (answer instanceof Answer.Granted granted) {
            if (batch.generation() == keeper.generation()) {
                slots.grant(call, granted.holds(), result.sent().orElse(batch.sent()), result.validUntil());
            } else if (!call.isDone() && call.isOnce()) {
                // Granted to a session that has ended since: nothing is held.
                call.fail(Failures.sessionLost(name, queue.isClosed()));
            }
            return true;
        }
        if (call.isDone()) {
            return false;
        }
        if (answer instanceof Answer.NotDone) {
            work.ask();
            if (call.isOnce()) {
                call.fail(Failures.requestLost(name));
            }
        } else if (answer instanceof Answer.Full) {
            if (call.isOnce()) {
                call.refuse();
            }
        } else {
            queue.remove(call);
            call.fail(
                    answer instanceof Answer.ExceedsLimit exceeded
                            ? Failures.exceedsLimit(name, call.wanted(), exceeded.limit())
                            : Failures.missing(name));
            work.ask();
        }
        return false;
    }
}
