package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.redis.net.RedisErrorException;
import io.github.distributedsemaphore.redis.net.RedisFailures;
import io.github.distributedsemaphore.redis.net.WireException;
import io.github.distributedsemaphore.redis.net.WireException.MovedException;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SessionListener;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives slots back and takes slots, for one session. What takes or hands over goes into one transaction, under a watch of the
 * control key that was begun in the same write as the transaction before. What only gives back needs no transaction, and leaves
 * the watch as it is.
 *
 * <p>What makes it safe: every change of a slot's holder is an SMOVE, which names the holder that it takes the slot from, and is
 * not done if that has not the slot. This session was alive when the watch began, and whatever takes a session for dead touches
 * the control key. So when the transaction is done, the session was alive, and so were those to which it handed a slot.
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
    private final Ledger ledger;
    private final Planner planner;
    private final Bookkeeping books;
    private final Reconciliation reconciliation;
    private final ExchangeLoop loop;
    private final Departure departure;

    /** An exchange of unknown outcome. */
    private @Nullable Attempt unknown;

    private volatile @Nullable Started started;

    RedisExchange(RedisLayout layout, RedisConnections connections, RedisLiveness liveness, SessionListener listener) {
        this.layout = layout;
        this.connections = connections;
        this.liveness = liveness;
        this.listener = listener;
        this.wire = new ArmedWire(layout, connections, liveness);
        this.ledger = liveness.ledger();
        this.planner = new Planner(liveness);
        this.books = new Bookkeeping(layout, liveness, listener, planner, wire);
        this.reconciliation = new Reconciliation(layout, liveness, planner, wire);
        this.loop = new ExchangeLoop(layout, liveness, wire, planner, books, reconciliation);
        this.departure = new Departure(layout, liveness, wire, planner, loop, reconciliation);
    }

    ArmedWire wire() {
        return wire;
    }

    Departure departure() {
        return departure;
    }

    ExchangeResult exchange(ExchangeRequest request) {
        return complete(begin(request), connections.callDeadline(), null);
    }

    private Attempt begin(ExchangeRequest request) {
        Attempt attempt = new Attempt(request);
        Set<Hold> done = ledger.takeReturned(request.giveBack());
        for (Hold hold : request.giveBack()) {
            if (!done.contains(hold)) {
                (ledger.has(hold) ? attempt.toGiveBack() : attempt.lost()).add(hold);
            }
        }
        attempt.toGiveBack().addAll(ledger.takeOwed());
        if (ledger.takeSuspicion()) {
            attempt.suspect();
        }
        loop.takeOffers(attempt);
        return attempt;
    }

    /**
     * Starts an exchange and returns without having waited.
     *
     * @param end is given the result, or what {@link #exchange} would throw, on any thread
     * @return false if a connection has to be opened first: then nothing was done
     */
    boolean start(ExchangeRequest request, BiConsumer<@Nullable ExchangeResult, @Nullable Throwable> end) {
        if (!wire.isOpen() || wire.isOtherServer() || unknown != null || reconciliation.isDue()) {
            return false;
        }
        View view = wire.known();
        if (view == null
                && wire.armAhead(request.wants().stream().mapToInt(want -> want).sum()) == null) {
            return false;
        }
        Started begun = new Started(begin(request), end);
        started = begun;
        if (view == null) {
            begun.arm();
        } else {
            begun.goOn(view);
        }
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
    private final class Started implements ExchangeLoop.Relay {
        private final Attempt attempt;
        private final Deadline deadline = connections.callDeadline();
        private final BiConsumer<@Nullable ExchangeResult, @Nullable Throwable> end;
        private volatile @Nullable CommandBatch sent;

        Started(Attempt attempt, BiConsumer<@Nullable ExchangeResult, @Nullable Throwable> end) {
            this.attempt = attempt;
            this.end = end;
        }

        private void goOn(View view) {
            ExchangeResult result;
            try {
                result = loop.advance(attempt, view, deadline, this);
            } catch (RuntimeException | Error e) {
                handOver(e);
                return;
            }
            if (result != null) {
                end(result, null);
            }
        }

        /** Nothing is touched after the sending: the reply may be here already. */
        @Override
        public void arm() {
            ArmedWire.Ahead ahead = wire.armAhead(attempt.wanted());
            if (ahead == null) {
                handOver();
                return;
            }
            sent = ahead.batch();
            Future<?> unused = ahead.replies().thenAccept(replies -> proceed(() -> wire.arrived(replies)));
        }

        /** Goes on with what a reply says, if that is enough. */
        private void proceed(Supplier<@Nullable View> reading) {
            View view;
            try {
                view = reading.get();
            } catch (RuntimeException | Error e) {
                handOver(e);
                return;
            }
            if (view == null) {
                handOver();
            } else {
                goOn(view);
            }
        }

        /** Nothing is touched after the sending: from then on the exchange is with the thread that brings the reply. */
        @Override
        public void send(View view, Step step) {
            Step.Prepared prepared = books.prepare(attempt, view, step);
            sent = prepared.batch();
            wire.send(prepared, supplied -> proceed(() -> entered(supplied.get())));
        }

        private @Nullable View entered(ArmedWire.Answer answer) {
            books.enter(attempt, answer);
            return wire.known(answer);
        }

        @Override
        public void handOver() {
            handOver(null);
        }

        /** Something has to be asked, or put right: a thread that may wait does the rest. */
        private void handOver(@Nullable Throwable failure) {
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

    /** A fault of our own, or no memory: it is not known how far the exchange came. */
    private void doubt(Attempt attempt) {
        wire.drop();
        attempt.doubt();
        leaveOpen(attempt);
    }

    private void leaveOpen(Attempt attempt) {
        unknown = attempt;
        reconciliation.noReplyOnLast();
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
            reconciliation.outliveGivingBack(attempt, deadline);
            return run(attempt, deadline);
        } catch (WireException | BackendUnavailableException e) {
            wire.disarm();
            if (e instanceof WireException broken && broken.isOutcomeOpen() && attempt.inFlight() != null) {
                leaveOpen(attempt);
                throw RedisFailures.uncertain(layout.what(), broken);
            }
            if (attempt.hasProgressed() && attempt.isServed()) {
                ledger.owe(attempt.unknownToCallers());
                return loop.result(attempt, wire.lastKnown());
            }
            failed(attempt);
            throw RedisFailures.certain(layout.what(), e);
        } catch (RedisErrorException | SemaphoreException e) {
            wire.disarm();
            failed(attempt);
            giveBackOwed(deadline);
            throw RedisFailures.certain(layout.what(), e);
        }
    }

    /** For the callers nothing was done: what was taken goes back, and what was given back is given back already. */
    private void failed(Attempt attempt) {
        Set<Hold> back = new HashSet<>(attempt.taken());
        back.addAll(attempt.unknownToCallers());
        ledger.owe(back);
        ledger.returned(attempt.request().giveBack().stream()
                .filter(hold -> !ledger.has(hold) && !attempt.lost().contains(hold))
                .toList());
    }

    /** A part of a transaction failed: the other parts are taken back, now if that is possible. */
    private void giveBackOwed(Deadline deadline) {
        try {
            if (ledger.owesAnything()) {
                giveBackUnwanted(false, deadline);
            }
        } catch (RedisErrorException | WireException | SemaphoreException e) {
            LOG.debug("{}: slots that were taken in vain go back later", layout.what(), e);
        }
    }

    /**
     * Takes up an exchange of unknown outcome. Once nothing that was sent before can be done any more, the session's set says
     * what was.
     */
    ExchangeResult resolve(ExchangeRequest request) {
        Attempt attempt = unknown;
        if (attempt == null) {
            // It failed before it began, and left no trace.
            attempt = begin(request);
            unknown = attempt;
        }
        Deadline deadline = connections.callDeadline();
        try {
            attempt.resolve();
            wire.disarm();
            if (reconciliation.outlive(deadline)) {
                reconciliation.requireConfirmed(deadline);
                planner.forgetPlace();
                attempt.undone();
                attempt.progress();
                View view = wire.rearm(0, deadline);
                if (!liveness.isGivenUp(view.isMember())) {
                    reconciliation.settle(attempt, view, deadline);
                }
            }
            ExchangeResult result = run(attempt, deadline);
            unknown = null;
            reconciliation.done();
            return result;
        } catch (RuntimeException e) {
            leaveOpen(attempt);
            wire.disarm();
            throw RedisFailures.certain(layout.what(), e);
        }
    }

    private ExchangeResult run(Attempt attempt, Deadline deadline) {
        while (true) {
            try {
                View known = wire.known();
                View view = known != null ? known : wire.armed(attempt.wanted(), deadline);
                ExchangeResult result = loop.advance(attempt, view, deadline, null);
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
        RedisConnections.follow(moved, deadline);
    }

    /**
     * Gives back what no caller of this session wants: what it owes, was offered, or has without its knowledge.
     *
     * @param look whether there may be something of the last kind
     */
    void giveBackUnwanted(boolean look, Deadline deadline) {
        Attempt back = Attempt.ofNobody(planner.isQueued());
        back.toGiveBack().addAll(ledger.takeOwed());
        try {
            // First: what cannot be given back now is owed then, and not tried again every few milliseconds.
            loop.takeOffers(back);
            reconciliation.outliveGivingBack(back, deadline);
            if (look) {
                back.freed(wire.rearm(0, deadline).free().size());
            }
            run(back, deadline);
        } catch (RuntimeException e) {
            ledger.owe(back.unknownToCallers());
            if (back.inFlight() != null) {
                reconciliation.noReplyOnLast();
            }
            wire.disarm();
            throw e;
        }
    }
}
