package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SessionListener;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives slots back and takes slots, for one session. Everything that one exchange does goes into one transaction, under a
 * watch of the control key that was begun in the same write as the transaction before: an exchange that meets nobody else is
 * one round trip.
 *
 * <p>What makes it safe: this session was alive when the watch began, and whoever takes a session for dead touches the control
 * key. So when the transaction is done, the session was alive, the limit was as known, and the slots that it gives back were
 * its own. That a slot was free is for HSETNX to say. A transaction that comes late, or that is repeated, finds the key
 * touched and does nothing.
 *
 * <p>For one thread at a time, but for {@link #endOverdue}.
 */
final class RedisExchange {
    private static final Logger LOG = LoggerFactory.getLogger(RedisExchange.class);

    private final RedisLayout layout;
    private final RedisConnections connections;
    private final RedisLiveness liveness;
    private final SessionListener listener;
    private final ArmedWire wire;
    private final SlotChoice choice = new SlotChoice();
    private final StepPlan plan;
    private final HoldBook book;

    private @Nullable Attempt unknown;
    private volatile @Nullable Started started;

    /** The number of the last hold before the present exchange. */
    private long lastNumber;

    private long prunedNanos = System.nanoTime();

    RedisExchange(RedisLayout layout, RedisConnections connections, RedisLiveness liveness, SessionListener listener) {
        this.layout = layout;
        this.connections = connections;
        this.liveness = liveness;
        this.listener = listener;
        this.wire = new ArmedWire(layout, connections, liveness);
        this.plan = new StepPlan(layout, liveness, liveness.clock(), choice);
        this.book = new HoldBook(layout, liveness, wire, choice);
    }

    SlotChoice choice() {
        return choice;
    }

    ArmedWire wire() {
        return wire;
    }

    /** The place in the queue, between exchanges. */
    QueuePlace place() {
        return new QueuePlace(layout, liveness, connections, wire, plan);
    }

    ExchangeResult exchange(ExchangeRequest request) {
        return complete(begin(request), connections.callDeadline(), null);
    }

    private Attempt begin(ExchangeRequest request) {
        lastNumber = plan.lastNumber();
        return book.begin(request);
    }

    /**
     * Starts an exchange and returns without having waited.
     *
     * @param end is given the result, or what {@link #exchange} would throw, on any thread
     * @return false if something has to be asked before there is something to send: then nothing was done
     */
    boolean start(ExchangeRequest request, BiConsumer<@Nullable ExchangeResult, @Nullable Throwable> end) {
        ArmedState state = wire.watchedState();
        if (state == null || wire.isOtherServer() || unknown != null) {
            return false;
        }
        Started begun = new Started(begin(request), end);
        started = begun;
        begun.goOn(state);
        return true;
    }

    /**
     * Ends the wait for the reply to a started exchange if its time is over. From any thread; does not wait.
     *
     * @return when the time of the present one is over; null if there is none
     */
    @Nullable
    Deadline endOverdue() {
        Started present = started;
        if (present == null) {
            return null;
        }
        CommandBatch sent = present.sent;
        if (sent != null && present.deadline.isPast(System.nanoTime())) {
            sent.giveUp();
        }
        return present.deadline;
    }

    /** An exchange of which each reply does the next step, without a thread that waits, as long as that is possible. */
    private final class Started {
        private final Attempt attempt;
        private final Deadline deadline = connections.callDeadline();
        private final BiConsumer<@Nullable ExchangeResult, @Nullable Throwable> end;
        private volatile @Nullable CommandBatch sent;

        Started(Attempt attempt, BiConsumer<@Nullable ExchangeResult, @Nullable Throwable> end) {
            this.attempt = attempt;
            this.end = end;
        }

        private void goOn(ArmedState state) {
            ExchangeResult result;
            try {
                result = advance(attempt, state, deadline, this);
            } catch (RuntimeException | Error e) {
                handOver(e);
                return;
            }
            if (result != null) {
                end(result, null);
            }
        }

        /** Nothing is touched after the sending: from then on the exchange is with the thread that brings the reply. */
        void send(ArmedState state, Step step) {
            Transaction transaction = prepare(attempt, state, step);
            sent = transaction.batch();
            Future<?> unused = wire.send(transaction.batch(), step, transaction.depth(), attempt.hasMissed())
                    .whenComplete((answer, failure) -> answered(transaction, answer, failure));
        }

        private void answered(Transaction transaction, ArmedWire.@Nullable Answer answer, @Nullable Throwable failure) {
            if (answer == null) {
                handOver(failure instanceof CompletionException ? failure.getCause() : failure);
                return;
            }
            ArmedState state;
            try {
                enter(attempt, transaction, answer.replies());
                state = answer.known();
            } catch (RuntimeException | Error e) {
                handOver(e);
                return;
            }
            if (state == null) {
                handOver(null);
            } else {
                goOn(state);
            }
        }

        /** Something has to be asked, or put right: a thread that may wait does the rest. */
        void handOver(@Nullable Throwable failure) {
            try {
                listener.execute(() -> {
                    ExchangeResult result;
                    try {
                        result = complete(attempt, deadline, failure);
                    } catch (RuntimeException | Error e) {
                        end(null, e);
                        return;
                    }
                    end(result, null);
                });
            } catch (RuntimeException | Error e) {
                doubt(attempt);
                end(null, e);
            }
        }

        private void end(@Nullable ExchangeResult result, @Nullable Throwable failure) {
            started = null;
            end.accept(result, failure);
        }
    }

    /**
     * Does an exchange, or the rest of it.
     *
     * @param failure what went wrong with it so far
     */
    private ExchangeResult complete(Attempt attempt, Deadline deadline, @Nullable Throwable failure) {
        try {
            return attempted(attempt, deadline, failure);
        } catch (SemaphoreException e) {
            throw e;
        } catch (RuntimeException | Error e) {
            doubt(attempt);
            throw e;
        }
    }

    /** A fault of our own, or no memory: nobody knows how far the exchange came. */
    private void doubt(Attempt attempt) {
        wire.drop();
        attempt.doubt();
        unknown = attempt;
    }

    private ExchangeResult attempted(Attempt attempt, Deadline deadline, @Nullable Throwable failure) {
        try {
            if (failure instanceof MovedException moved) {
                followMove(attempt, moved, deadline);
            } else if (failure instanceof RuntimeException known) {
                throw known;
            } else if (failure != null) {
                throw new IllegalStateException(layout.what() + ": " + failure, failure);
            }
            return run(attempt, deadline);
        } catch (WireException | BackendUnavailableException e) {
            wire.disarm();
            if (e instanceof WireException broken && broken.isOutcomeOpen() && attempt.inFlight() != null) {
                unknown = attempt;
                throw RedisFailures.uncertain(layout.what(), broken);
            }
            book.stray(attempt, attempt.spare());
            if (attempt.hasProgressed()) {
                return result(attempt, wire.lastKnown());
            }
            throw RedisFailures.certain(layout.what(), e);
        } catch (RedisErrorException | SemaphoreException e) {
            wire.disarm();
            book.stray(attempt, attempt.taken());
            book.failed(attempt);
            giveBackStrays(deadline);
            throw RedisFailures.certain(layout.what(), e);
        }
    }

    /** A part of a transaction failed: the other parts are taken back, now if that is possible. */
    private void giveBackStrays(Deadline deadline) {
        List<Hold> kept = book.strays();
        if (kept.isEmpty()) {
            return;
        }
        Attempt back = Attempt.ofNobody();
        book.takeUpStrays(back);
        try {
            run(back, deadline);
        } catch (RedisErrorException | WireException | SemaphoreException e) {
            wire.disarm();
            LOG.debug("{}: slots that were taken in vain go back later", layout.what(), e);
            book.strayAgain(kept);
        }
    }

    /** Takes up an exchange of which nobody knows what it did. */
    ExchangeResult resolve(ExchangeRequest request) {
        Attempt attempt = unknown;
        if (attempt == null) {
            // It failed before it began, and left no trace.
            attempt = begin(request);
            attempt.doubt();
            unknown = attempt;
        }
        Deadline deadline = connections.callDeadline();
        try {
            attempt.resolve();
            Step sent = attempt.inFlight();
            if (sent != null || attempt.isDoubtful()) {
                ArmedState state = wire.touch(deadline);
                requireConfirmed(deadline);
                settle(attempt, sent, state, deadline);
            }
            ExchangeResult result = run(attempt, deadline);
            unknown = null;
            return result;
        } catch (RuntimeException e) {
            wire.disarm();
            throw RedisFailures.certain(layout.what(), e);
        }
    }

    private ExchangeResult run(Attempt attempt, Deadline deadline) {
        while (true) {
            try {
                ExchangeResult result = advance(attempt, wire.armed(deadline), deadline, null);
                if (result != null) {
                    return result;
                }
            } catch (MovedException e) {
                followMove(attempt, e, deadline);
            }
        }
    }

    private void followMove(Attempt attempt, MovedException moved, Deadline deadline) {
        attempt.undone();
        wire.disarm();
        if (deadline.isPast(System.nanoTime())) {
            throw moved;
        }
        Awaiting.pause(RedisConnections.soon());
    }

    /**
     * Goes on with an exchange.
     *
     * @param begun goes on with it where something has to be sent; null to send it here and to wait
     * @return null if it was left to that
     */
    private @Nullable ExchangeResult advance(
            Attempt attempt, ArmedState armed, Deadline deadline, @Nullable Started begun) {
        ArmedState state = armed;
        while (true) {
            if (liveness.isGivenUp(state.isMember())) {
                loseAll(attempt);
            }
            if (attempt.isFresh(state) && plan.isPlaceLost(state)) {
                plan.forgetPlace();
            }
            if (begun == null) {
                state = look(attempt, state, deadline);
            } else if (hasToLook(attempt, state)) {
                begun.handOver(null);
                return null;
            }
            Step step = plan.next(attempt, state);
            if (!step.isEmpty() && begun != null) {
                begun.send(state, step);
                return null;
            } else if (!step.isEmpty()) {
                state = commit(attempt, state, step, deadline);
            } else if (attempt.isServed() && attempt.giveBackSpare()) {
                continue;
            } else if (begun != null && hasToAsk(attempt, state)) {
                begun.handOver(null);
                return null;
            } else if (attempt.isServed()) {
                return finish(attempt, state, deadline);
            } else if (isAllKnown(attempt, state)) {
                state = refuse(attempt, state, deadline);
            } else {
                state = wire.rearm(true, deadline);
            }
            if (deadline.isPast(System.nanoTime())) {
                throw new BackendUnavailableException(
                        layout.what() + ": too much traffic to get a transaction through in time", null);
            }
        }
    }

    /** Whether something has to be looked at before anything is sent. */
    private boolean hasToLook(Attempt attempt, ArmedState state) {
        return wire.isOtherServer()
                || !book.doubtful(attempt).isEmpty()
                || (!state.holdsWatched() && plan.wantsTogether(attempt, state));
    }

    private ArmedState look(Attempt attempt, ArmedState state, Deadline deadline) {
        if (wire.isOtherServer()) {
            wire.knowServer();
            book.reconcile(attempt, deadline);
        }
        List<Hold> doubtful = book.doubtful(attempt);
        if (!doubtful.isEmpty()) {
            book.verify(attempt, doubtful, deadline);
        }
        return !state.holdsWatched() && plan.wantsTogether(attempt, state) ? wire.watchHolds(deadline) : state;
    }

    /** Whether something has to be asked although nothing is left to be sent. */
    private boolean hasToAsk(Attempt attempt, ArmedState state) {
        if (attempt.isServed()) {
            return isToBeSwept(attempt, state) || (attempt.hasJoined() && isTimeToPrune(state));
        }
        return !isAllKnown(attempt, state) || state.control() == null || isTimeToPrune(state);
    }

    /** Whether enough was read since this exchange began to refuse what does not fit. */
    private static boolean isAllKnown(Attempt attempt, ArmedState state) {
        return attempt.isFresh(state) && (state.usedSlots() != null || state.control() == null);
    }

    private ArmedState refuse(Attempt attempt, ArmedState state, Deadline deadline) {
        if (state.control() == null) {
            wire.refuseForeign(deadline);
        }
        attempt.refuseBeyond(state.limit());
        if (attempt.isServed() || !prune(state, deadline)) {
            attempt.stopClaiming();
            return state;
        }
        ArmedState pruned = wire.rearm(true, deadline);
        attempt.freed(pruned.free(), List.of());
        return pruned;
    }

    /** Somebody's time is over; or now and then, for slots of clients that are not there at all. */
    private boolean isTimeToPrune(ArmedState state) {
        return state.firstEndMillis() < state.serverMicros() / 1_000
                || System.nanoTime() - prunedNanos >= liveness.lease().toNanos();
    }

    /** Looks for the dead when it is time to. */
    private boolean prune(ArmedState state, Deadline deadline) {
        if (!isTimeToPrune(state)) {
            return false;
        }
        prunedNanos = System.nanoTime();
        return new RedisPruning(layout, wire.forOther(deadline))
                .prune(state.serverMicros(), liveness.client(), deadline);
    }

    /** A transaction that is to be sent, with what is needed to understand its replies. */
    private record Transaction(CommandBatch batch, Step step, Step.Sent sent, int confirmed, ArmedState.Depth depth) {}

    private Transaction prepare(Attempt attempt, ArmedState before, Step step) {
        CommandBatch batch = new CommandBatch().multi();
        Step.Sent sent = step.addTo(batch, layout, liveness);
        batch.exec();
        int confirmed = step.claims().isEmpty()
                ? Replicas.NOT_ASKED
                : liveness.replicas().ask(batch);
        attempt.sent(step);
        return new Transaction(batch, step, sent, confirmed, plan.depth(attempt, before, step));
    }

    private ArmedState commit(Attempt attempt, ArmedState before, Step step, Deadline deadline) {
        Transaction transaction = prepare(attempt, before, step);
        ArmedWire.Answer answer =
                wire.commit(transaction.batch(), step, transaction.depth(), attempt.hasMissed(), deadline);
        enter(attempt, transaction, answer.replies());
        return answer.state(deadline);
    }

    /** Enters in the books what a transaction did. */
    private void enter(Attempt attempt, Transaction transaction, Replies replies) {
        if (!replies.executed()) {
            attempt.undone();
            return;
        }
        Step step = transaction.step();
        attempt.done();
        plan.committed(step);
        book.released(attempt, step);
        book.take(attempt, step, transaction.sent(), replies);
        liveness.replicas().require(replies, transaction.confirmed());
        if (attempt.serve()) {
            plan.granted(step);
        }
        replies.requireAllDone();
        attempt.progress();
    }

    /** What the lost transaction may have granted counts only if it would count otherwise. */
    private void requireConfirmed(Deadline deadline) {
        CommandBatch batch = new CommandBatch();
        Replicas replicas = liveness.replicas();
        int confirmed = replicas.ask(batch);
        if (!batch.isEmpty()) {
            replicas.require(wire.ask(batch, deadline), confirmed);
        }
    }

    /** Finds out what became of the exchange, now that no transaction of it can be done any more. */
    private void settle(Attempt attempt, @Nullable Step sent, ArmedState state, Deadline deadline) {
        if (attempt.isDoubtful()) {
            attempt.forgetTaken();
        }
        if (state.isMember() && attempt.isDoubtful()) {
            book.recover(attempt, lastNumber, deadline);
        } else if (state.isMember() && sent != null) {
            book.settle(attempt, sent, deadline);
        }
        plan.forgetPlace();
        attempt.undone();
        attempt.progress();
        attempt.serve();
    }

    /** This session was given up for dead: nothing that it held is its own any more. */
    private void loseAll(Attempt attempt) {
        Set<Hold> others = book.loseAll(attempt);
        plan.forgetPlace();
        if (!others.isEmpty()) {
            listener.lost(others, "this client was not heard of in time, and others were given its slots");
        }
    }

    private static boolean isToBeSwept(Attempt attempt, ArmedState state) {
        return state.control() == null && attempt.hasProgressed();
    }

    private ExchangeResult finish(Attempt attempt, ArmedState state, Deadline deadline) {
        if (!plan.isQueued()) {
            List<Integer> told = plan.toldInVain();
            attempt.freed(told.size(), told);
        }
        wire.tell(plan.wakeOthers(attempt, state));
        if (isToBeSwept(attempt, state)) {
            new RedisPruning(layout, wire.forOther(deadline)).sweep(deadline);
        } else if (attempt.hasJoined()) {
            // Or else those who died while slots were free would be kept for ever.
            prune(state, deadline);
        }
        plan.finished(attempt);
        return result(attempt, state);
    }

    private ExchangeResult result(Attempt attempt, ArmedState state) {
        attempt.lost().retainAll(attempt.request().giveBack());
        Deadline recheck = Deadline.NEVER;
        if (attempt.hasRefused()) {
            if (state.firstEndMillis() != Long.MAX_VALUE) {
                recheck = Deadline.at(liveness.clock().nanosAt((state.firstEndMillis() + 2) * 1_000));
            }
            if (attempt.isLeftToOthers()) {
                recheck = recheck.earlier(Deadline.at(System.nanoTime() + StepPlan.PATIENCE_NANOS));
            }
        }
        return ExchangeResult.of(attempt.answers())
                .lost(attempt.lost())
                .validUntil(liveness.validUntil(state.sentNanos(), state.deadlineMillis(), state.serverMicros()))
                .recheck(recheck)
                .othersWaiting(plan.othersWait(state))
                .build();
    }
}
