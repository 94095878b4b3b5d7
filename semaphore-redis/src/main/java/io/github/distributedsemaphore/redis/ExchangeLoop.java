package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The course of an exchange, from what is known of the semaphore to the result: plans a step, sends it, enters what it did, until
 * every caller has its answer. Failures are {@link RedisExchange}'s. For one thread at a time.
 */
final class ExchangeLoop {
    private final RedisLayout layout;
    private final RedisLiveness liveness;
    private final ArmedWire wire;
    private final Ledger ledger;
    private final Planner planner;
    private final Bookkeeping books;
    private final Reconciliation reconciliation;

    ExchangeLoop(
            RedisLayout layout,
            RedisLiveness liveness,
            ArmedWire wire,
            Planner planner,
            Bookkeeping books,
            Reconciliation reconciliation) {
        this.layout = layout;
        this.liveness = liveness;
        this.wire = wire;
        this.ledger = liveness.ledger();
        this.planner = planner;
        this.books = books;
        this.reconciliation = reconciliation;
    }

    /** Takes an exchange over at the points where the loop would have to wait. */
    interface Relay {
        /** Begins a watch. */
        void arm();

        /** Sends a step. */
        void send(View view, Step step);

        /** Has a thread that may wait do the rest. */
        void handOver();
    }

    /** What others gave to this session meanwhile serves its callers before anything is asked. */
    void takeOffers(Attempt attempt) {
        long since = ledger.offeredSince();
        List<Hold> offered = ledger.takeOffers(liveness.client(), former -> books.over(attempt, former));
        if (!offered.isEmpty()) {
            planner.wasServed(since);
            attempt.spare().addAll(offered);
            if (attempt.serve()) {
                planner.granted(null);
            }
        }
    }

    /**
     * Goes on with an exchange.
     *
     * @param relay goes on with it where something has to be sent or asked; null to do that here and to wait
     * @return null if it was left to that
     */
    @Nullable
    ExchangeResult advance(Attempt attempt, View known, Deadline deadline, @Nullable Relay relay) {
        View view = known;
        while (true) {
            if (view.complete() && liveness.isGivenUp(view.isMember())) {
                books.loseAll(attempt);
            }
            takeOffers(attempt);
            if (attempt.isFresh(view) && planner.isPlaceLost(view)) {
                planner.doubtPlace();
            }
            if (relay == null) {
                view = look(attempt, calm(attempt, view, deadline), deadline);
            } else if (attempt.hasToBackOff() || hasToLook(attempt, view)) {
                relay.handOver();
                return null;
            }
            Step step = planner.isDone(attempt) ? Step.NOTHING : planner.next(attempt, view);
            if (!step.isBare() && !view.watched()) {
                if (relay != null) {
                    relay.arm();
                    return null;
                }
                view = wire.armed(attempt.wanted(), deadline);
            } else if (!step.isEmpty() && relay != null) {
                relay.send(view, step);
                return null;
            } else if (!step.isEmpty()) {
                view = commit(attempt, view, step, deadline);
            } else if (attempt.isServed() && attempt.giveBackSpare()) {
                continue;
            } else if (relay != null && hasToAsk(attempt, view)) {
                relay.handOver();
                return null;
            } else if (attempt.isServed()) {
                return finish(attempt, view, deadline);
            } else if (isAllKnown(attempt, view)) {
                view = refuse(attempt, view, deadline);
            } else if (staysFarBack(attempt, view)) {
                view = wire.glance(attempt.wanted(), deadline);
            } else {
                view = wire.rearm(attempt.wanted(), deadline);
            }
            if (deadline.isPast(System.nanoTime())) {
                throw new BackendUnavailableException(
                        layout.what() + ": too much traffic to get a transaction through in time", null);
            }
        }
    }

    /** Whether something has to be looked at before anything is sent. */
    private boolean hasToLook(Attempt attempt, View view) {
        return wire.isOtherServer()
                || isBlind(attempt, view)
                || (attempt.isFresh(view) && !reconciliation.surplus(view).isEmpty())
                || (!view.freeWatched() && planner.wantsTogether(attempt, view));
    }

    /** Whether this session may have been given up for dead since its last look. */
    private static boolean isBlind(Attempt attempt, View view) {
        return attempt.isSuspicious() && !attempt.isAllFresh(view);
    }

    /** What was read together with the failure is old after the wait, and a watch that lasts longer fails more often. */
    private View calm(Attempt attempt, View view, Deadline deadline) {
        if (view.freeWatched() || !attempt.hasToBackOff()) {
            return view;
        }
        wire.disarm();
        attempt.backOff(deadline);
        return wire.rearm(attempt.wanted(), deadline);
    }

    private View look(Attempt attempt, View known, Deadline deadline) {
        View view = known;
        if (wire.isOtherServer() || isBlind(attempt, view)) {
            wire.knowServer();
            view = wire.rearm(attempt.wanted(), deadline);
            if (liveness.isGivenUp(view.isMember())) {
                books.loseAll(attempt);
            }
        }
        if (attempt.isFresh(view)) {
            // An older look may have seen a slot that was found to be lost since.
            reconciliation.adopt(attempt, view, deadline);
        }
        if (attempt.serve()) {
            planner.granted(null);
        }
        return !view.freeWatched() && planner.wantsTogether(attempt, view)
                ? wire.read(View.Watch.CONTROL_AND_FREE, attempt.wanted(), deadline)
                : view;
    }

    /** Whether something has to be asked although nothing is left to be sent. */
    private boolean hasToAsk(Attempt attempt, View view) {
        if (attempt.isServed()) {
            return isToBeSwept(attempt, view) || (attempt.hasJoined() && isTimeToPrune(view));
        }
        return !isAllKnown(attempt, view) || view.control() == null || isTimeToPrune(view);
    }

    /**
     * Whether enough was read since this exchange began to refuse what does not fit. A caller that waits leaves what is free to others
     * if it has to, however much that is.
     */
    private static boolean isAllKnown(Attempt attempt, View view) {
        return attempt.isFresh(view) && (view.allFree() || view.control() == null || attempt.isOnlyForWaiters());
    }

    /** Whether it is likely that there is nothing for this session, so that it needs no watch and no news of itself. */
    private boolean staysFarBack(Attempt attempt, View view) {
        return planner.isQueued()
                && attempt.isOnlyForWaiters()
                && !attempt.isSuspicious()
                && !attempt.isFresh(view)
                && view.isMember()
                && view.free().isEmpty()
                && view.isFarBack(liveness.client());
    }

    private View refuse(Attempt attempt, View view, Deadline deadline) {
        if (view.control() == null) {
            wire.refuseForeign(deadline);
        }
        attempt.refuseBeyond(view.limit());
        if (attempt.isServed() || !prune(view, deadline)) {
            attempt.stopClaiming();
            // To look for the dead ends the watch.
            return wire.known() == null ? view.unwatched() : view;
        }
        View pruned = wire.rearm(attempt.wanted(), deadline);
        attempt.freed(pruned.free().size());
        return pruned;
    }

    /** Somebody's time is over. */
    private static boolean isTimeToPrune(View view) {
        return view.firstEndMillis() < view.serverMicros() / 1_000;
    }

    /** Removes dead clients, if there seem to be any. */
    private boolean prune(View view, Deadline deadline) {
        return isTimeToPrune(view)
                && new RedisPruning(layout, wire.forOther(deadline))
                        .prune(view.serverMicros(), liveness.client(), deadline);
    }

    private View commit(Attempt attempt, View before, Step step, Deadline deadline) {
        ArmedWire.Answer answer = wire.commit(books.prepare(attempt, before, step), deadline);
        books.enter(attempt, answer);
        View known = wire.known(answer);
        return known == null ? wire.rearm(attempt.wanted(), deadline) : known;
    }

    private static boolean isToBeSwept(Attempt attempt, View view) {
        return view.control() == null && attempt.hasProgressed();
    }

    private ExchangeResult finish(Attempt attempt, View view, Deadline deadline) {
        hint(attempt, view);
        if (isToBeSwept(attempt, view)) {
            new RedisPruning(layout, wire.forOther(deadline)).sweep(deadline);
        } else if (attempt.hasJoined()) {
            // Or else those that died while slots were free would be kept until the semaphore is full.
            prune(view, deadline);
        }
        planner.finished(attempt);
        settleWatch(attempt);
        return result(attempt, view);
    }

    /** A client that waits holds no watch; one that was given a slot needs one when it gives the slot back. */
    private void settleWatch(Attempt attempt) {
        View known = wire.known();
        if (known == null) {
            return;
        }
        if (known.watched() && attempt.isForWaiters() && attempt.hasRefused()) {
            wire.rest();
        } else if (!known.watched() && !attempt.taken().isEmpty()) {
            wire.armAhead(1);
        }
    }

    /** The first in the queue hear of what became free, unless they did so with the transaction. */
    void hint(Attempt attempt, View view) {
        if (planner.othersWait(view)) {
            List<String> first = view.others(liveness.client()).stream()
                    .limit(freeForOthers(attempt, view))
                    .filter(waiter -> !attempt.served().contains(waiter))
                    .toList();
            call(first, attempt);
            call(nextCalled(attempt, view), attempt);
        }
        if (attempt.hasHinted()) {
            wire.queueMoves();
        }
    }

    private void call(List<String> waiters, Attempt attempt) {
        if (!waiters.isEmpty()) {
            CommandBatch batch = new CommandBatch();
            waiters.forEach(waiter -> batch.add(RedisVerb.PUBLISH, layout.channelOf(waiter), Ledger.Offer.HINT));
            attempt.hinted(waiters);
            wire.tell(batch);
        }
    }

    /**
     * As many clients are called as slots became free, and what is too little for one of them may be enough for the next. So a client that
     * was called and is refused passes the call on, once, and only to a client behind it: no two call each other. One that leaves
     * what is free to those before it keeps the call, for it looks again soon.
     */
    private List<String> nextCalled(Attempt attempt, View view) {
        if (!attempt.isForWaiters()
                || !attempt.hasRefused()
                || attempt.isLeftToOthers()
                || !view.slotsRead()
                || view.free().isEmpty()
                || !ledger.takeCall()) {
            return List.of();
        }
        return view.others(liveness.client()).stream()
                .skip(view.ahead(liveness.client()).size())
                .filter(waiter -> !attempt.served().contains(waiter))
                .limit(1)
                .toList();
    }

    /** Two releases may both have told the first in the queue, which takes one slot and passes the other on. */
    private static int freeForOthers(Attempt attempt, View view) {
        if (!view.slotsRead()) {
            return attempt.freed();
        }
        boolean passesOn = attempt.isForWaiters() && !attempt.taken().isEmpty();
        return Math.min(view.free().size(), Math.max(attempt.freed(), passesOn ? 1 : 0));
    }

    ExchangeResult result(Attempt attempt, View view) {
        attempt.lost().retainAll(attempt.request().giveBack());
        return ExchangeResult.of(attempt.answers())
                .lost(attempt.lost())
                .validUntil(liveness.validUntil(view.sentNanos(), view.deadlineMillis(), view.serverMicros()))
                .recheck(attempt.hasRefused() ? recheck(attempt, view) : Deadline.NEVER)
                .othersWaiting(planner.othersWait(view))
                .ahead(view.ahead(liveness.client()).size())
                .build();
    }

    private Deadline recheck(Attempt attempt, View view) {
        Deadline recheck = Deadline.NEVER;
        if (view.firstEndMillis() != Long.MAX_VALUE) {
            recheck = Deadline.at(liveness.clock().nanosAt((view.firstEndMillis() + 2) * 1_000));
        }
        if (attempt.isLeftToOthers() && !view.isFarBack(liveness.client())) {
            recheck = recheck.earlier(Deadline.at(System.nanoTime() + Planner.PATIENCE_NANOS));
        }
        if (view.isMember() && attempt.request().waiting()) {
            // A client that only waits lives on by its looks, and would lose its place with its life.
            recheck = recheck.earlier(liveness.renewalDue(view.deadlineMillis()));
        }
        return recheck;
    }
}
