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
 * <p>For one thread at a time.
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
        Attempt attempt = book.begin(request);
        Deadline deadline = connections.callDeadline();
        try {
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

    /** Takes up an exchange whose transaction was sent and not answered. */
    ExchangeResult resolve() {
        Attempt attempt = unknown;
        if (attempt == null) {
            throw new IllegalStateException(layout.what() + ": there is no exchange of unknown outcome");
        }
        Deadline deadline = connections.callDeadline();
        try {
            attempt.stopClaiming();
            Step sent = attempt.inFlight();
            if (sent != null) {
                ArmedState state = wire.touch(deadline);
                requireConfirmed(deadline);
                settle(attempt, sent, state, deadline);
            }
            ExchangeResult result = run(attempt, deadline);
            unknown = null;
            return result;
        } catch (RedisErrorException | WireException e) {
            wire.disarm();
            throw RedisFailures.certain(layout.what(), e);
        }
    }

    private ExchangeResult run(Attempt attempt, Deadline deadline) {
        while (true) {
            try {
                return runHere(attempt, deadline);
            } catch (MovedException e) {
                attempt.undone();
                wire.disarm();
                if (deadline.isPast(System.nanoTime())) {
                    throw e;
                }
                Awaiting.pause(RedisConnections.soon());
            }
        }
    }

    private ExchangeResult runHere(Attempt attempt, Deadline deadline) {
        ArmedState state = wire.armed(deadline);
        while (true) {
            if (liveness.isGivenUp(state.isMember())) {
                loseAll(attempt);
            }
            if (attempt.isFresh(state) && plan.isPlaceLost(state)) {
                plan.forgetPlace();
            }
            if (wire.takeServerChange()) {
                book.reconcile(attempt, deadline);
            }
            book.verify(attempt, deadline);
            if (!state.holdsWatched() && plan.wantsTogether(attempt, state)) {
                state = wire.watchHolds(deadline);
            }
            Step step = plan.next(attempt, state);
            if (!step.isEmpty()) {
                state = commit(attempt, state, step, deadline);
            } else if (attempt.isServed()) {
                if (!attempt.giveBackSpare()) {
                    return finish(attempt, state, deadline);
                }
            } else if (!attempt.isFresh(state) || (state.usedSlots() == null && state.control() != null)) {
                state = wire.rearm(true, deadline);
            } else {
                if (state.control() == null) {
                    wire.refuseForeign(deadline);
                }
                attempt.refuseBeyond(state.limit());
                if (attempt.isServed() || !prune(state, deadline)) {
                    attempt.stopClaiming();
                } else {
                    state = wire.rearm(true, deadline);
                    attempt.freed(state.free(), List.of());
                }
            }
            if (deadline.isPast(System.nanoTime())) {
                throw new BackendUnavailableException(
                        layout.what() + ": too much traffic to get a transaction through in time", null);
            }
        }
    }

    /** Looks for the dead when somebody's time is over, and now and then for slots of clients that are not there at all. */
    private boolean prune(ArmedState state, Deadline deadline) {
        long now = System.nanoTime();
        boolean isTime = state.firstEndMillis() < state.serverMicros() / 1_000;
        if (!isTime && now - prunedNanos < liveness.lease().toNanos()) {
            return false;
        }
        prunedNanos = now;
        return new RedisPruning(layout, wire.forOther(deadline))
                .prune(state.serverMicros(), liveness.client(), deadline);
    }

    private ArmedState commit(Attempt attempt, ArmedState before, Step step, Deadline deadline) {
        CommandBatch batch = new CommandBatch().multi();
        Step.Sent sent = step.addTo(batch, layout, liveness);
        batch.exec();
        Replicas replicas = liveness.replicas();
        int confirmed = step.claims().isEmpty() ? Replicas.NOT_ASKED : replicas.ask(batch);
        attempt.sent(step);
        ArmedState.Depth depth = plan.depth(attempt, before, step);
        ArmedWire.Answer answer = wire.commit(batch, step, depth, attempt.hasMissed(), deadline);
        if (answer.replies().executed()) {
            attempt.done();
            plan.committed(step);
            book.released(attempt, step);
            book.take(attempt, step, sent, answer.replies());
            replicas.require(answer.replies(), confirmed);
            if (attempt.serve()) {
                plan.granted(step);
            }
            answer.replies().requireAllDone();
            attempt.progress();
        } else {
            attempt.undone();
        }
        return answer.state();
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

    /** Finds out what became of a transaction, now that it cannot be done any more if it was not. */
    private void settle(Attempt attempt, Step step, ArmedState state, Deadline deadline) {
        if (state.isMember()) {
            book.settle(attempt, step, deadline);
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

    private ExchangeResult finish(Attempt attempt, ArmedState state, Deadline deadline) {
        if (!plan.isQueued()) {
            List<Integer> told = plan.toldInVain();
            attempt.freed(told.size(), told);
        }
        wire.tell(plan.wakeOthers(attempt, state));
        if (state.control() == null && attempt.hasProgressed()) {
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
