package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.InterruptShield;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client's presence at one semaphore: a connection of its own, made for the first hold, whose end is the end of the
 * session. It has no unknown outcomes: a request without answer costs the connection.
 */
final class RabbitSession implements BackendSession {
    private static final Logger LOG = LoggerFactory.getLogger(RabbitSession.class);

    private final RabbitBackend backend;
    private final QueueNames names;
    private final SessionListener listener;
    private final HeldSlots held = new HeldSlots();
    private final SlotMemory memory = new SlotMemory();
    private final HolderCount count;
    private final Granting granting;
    private final SessionLink link;
    private final Watch rollCall;
    private final Turn turn;

    RabbitSession(RabbitBackend backend, String name, SessionListener listener) {
        this.backend = backend;
        this.names = new QueueNames(name);
        this.listener = listener;
        this.link = new SessionLink(backend, names, listener);
        this.count = new HolderCount(names, backend.connections()::execute);
        this.granting = new Granting(backend, names, held, memory, count);
        this.turn = new Turn(backend.mailbox(), names.encoded());
        this.rollCall = backend.mailbox().answerRollCalls(names.encoded(), held::entries);
    }

    @Override
    public ExchangeResult exchange(ExchangeRequest request) {
        try (InterruptShield shield = new InterruptShield()) {
            Set<Hold> lost = giveBack(request);
            if (request.wants().isEmpty() || turn.isOfOthers(request)) {
                return refused(request, lost, turn.end());
            }
            try {
                return take(request, lost, shield);
            } catch (SemaphoreException e) {
                if (request.giveBack().isEmpty() || isAnyAttempt(request)) {
                    throw e;
                }
                // What was given back is, and has to be told. The next exchange meets the same failure and tells that.
                LOG.debug("{}: could give back, but not take", subject(), e);
                return refused(request, lost, Deadline.at(System.nanoTime()));
            }
        } catch (LinkLostException e) {
            throw link.gone(e);
        } catch (SemaphoreException e) {
            throw e;
        } catch (RuntimeException e) {
            link.end("an error of this library: " + e);
            throw link.gone(e);
        }
    }

    private ExchangeResult refused(ExchangeRequest request, Set<Hold> lost, Deadline again) {
        List<Answer> refused = Collections.nCopies(request.wants().size(), Answer.FULL);
        return ExchangeResult.of(refused)
                .lost(lost)
                .recheck(refused.isEmpty() ? Deadline.NEVER : again)
                .othersWaiting(turn.isAnyoneElseWaiting())
                .build();
    }

    private String subject() {
        return "Semaphore '" + names.semaphore() + "'";
    }

    @Override
    public ExchangeResult resolve(ExchangeRequest request) {
        link.end("the outcome of an exchange is unknown");
        throw link.gone(null);
    }

    /** Whether somebody takes a refusal for an answer. */
    private static boolean isAnyAttempt(ExchangeRequest request) {
        return request.attempts() > 0 || !(request.waiting() || request.wants().isEmpty());
    }

    /** Returns those that were not held any more. */
    private Set<Hold> giveBack(ExchangeRequest request) throws LinkLostException {
        Set<Hold> lost = new HashSet<>();
        try {
            giveBack(request.giveBack(), lost);
        } catch (LinkLostException e) {
            if (isAnyAttempt(request)) {
                throw e;
            }
            // The end of the connection gives back what it had, and that is how these are given back.
            LOG.debug("{}: given back by the end of the connection", subject(), e);
        }
        return lost;
    }

    private void giveBack(List<Hold> holds, Set<Hold> lost) throws LinkLostException {
        boolean freed = false;
        // Meanwhile it is looked whether they are still held.
        CompletableFuture<?> uncounted = count.remove(
                holds.stream().filter(held::contains).map(Hold::slot).toList());
        for (Hold hold : holds) {
            if (!held.contains(hold) || link.holder().look(names.hold(hold.slot())) != QueueAnswer.OK) {
                lost.add(hold);
            } else {
                count.await(uncounted);
                link.holder().delete(names.hold(hold.slot()));
                memory.freed(hold.slot());
                freed = true;
            }
            held.remove(hold);
        }
        if (freed) {
            turn.begins();
            backend.mailbox().tellReleased(names.encoded());
        }
    }

    private ExchangeResult take(ExchangeRequest request, Set<Hold> lost, InterruptShield shield)
            throws LinkLostException {
        Granting.Granted granted = granting.take(request, link.holder(), shield);
        boolean full = granted.answers().contains(Answer.FULL);
        if (full && request.waiting()) {
            backend.mailbox().tellWaiting(names.encoded());
        }
        Deadline again = full ? recheck() : Deadline.NEVER;
        return ExchangeResult.of(granted.answers())
                .lost(lost)
                .validUntil(validFrom(granted.sent()))
                .recheck(again)
                .othersWaiting(turn.isAnyoneElseWaiting())
                .build();
    }

    /**
     * The broker frees the queues of a connection that is silent for two heartbeats at the earliest, counted from the
     * sending of the last request that it answered. A tenth of a heartbeat is left for the clocks of both sides.
     */
    private Deadline validFrom(long sent) {
        return Deadline.after(sent, RabbitBackend.validity(link.heartbeat()));
    }

    /** A holder that dies wakes nobody: who waits has to ask again. */
    private Deadline recheck() {
        long longest = backend.mailbox().isOpen() ? 500_000_000L : 100_000_000L;
        return Deadline.at(
                System.nanoTime() + longest / 2 + ThreadLocalRandom.current().nextLong(longest / 2));
    }

    @Override
    public Renewal renew(Collection<Hold> holds) {
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            long sent = System.nanoTime();
            Set<Hold> lost = lostOf(holds);
            List<Hold> still =
                    holds.stream().filter(hold -> !lost.contains(hold)).toList();
            return new Renewal(validFrom(sent), lost, retiredOf(still));
        } catch (LinkLostException e) {
            throw link.gone(e);
        }
    }

    private Set<Hold> lostOf(Collection<Hold> holds) throws LinkLostException {
        Set<Hold> lost = new HashSet<>();
        for (Hold hold : holds) {
            if (!held.contains(hold) || link.holder().look(names.hold(hold.slot())) != QueueAnswer.OK) {
                lost.add(hold);
            }
        }
        if (!lost.isEmpty()) {
            count.await(count.remove(
                    lost.stream().filter(held::contains).map(Hold::slot).toList()));
            // Told before the slot may be taken again by this very session.
            listener.lost(lost, "its queue at the broker was deleted");
            held.removeAll(lost);
        }
        return lost;
    }

    private Set<Hold> retiredOf(List<Hold> holds) throws LinkLostException {
        List<String> slots = holds.stream().map(hold -> names.slot(hold.slot())).toList();
        List<Existence> found = backend.sight().look(slots, link::holder);
        Set<Hold> retired = new HashSet<>();
        for (int i = 0; i < holds.size(); i++) {
            if (found.get(i) == Existence.ABSENT && link.holder().look(slots.get(i)) == QueueAnswer.ABSENT) {
                retired.add(holds.get(i));
            }
        }
        return retired;
    }

    @Override
    public Duration renewEvery() {
        return RabbitBackend.renewEvery(link.heartbeat());
    }

    @Override
    public HoldState check(Hold hold) {
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            if (link.isOver() || !lostOf(List.of(hold)).isEmpty()) {
                return HoldState.LOST;
            }
            return retiredOf(List.of(hold)).isEmpty() ? HoldState.HELD : HoldState.RETIRED;
        } catch (LinkLostException e) {
            return HoldState.LOST;
        }
    }

    @Override
    public Watch watch(Runnable hint) {
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            return backend.mailbox().watch(names.encoded(), hint);
        }
    }

    @Override
    public void close() {
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            rollCall.close();
            granting.close();
            if (link.close() && !held.isEmpty()) {
                backend.mailbox().tellReleased(names.encoded());
            }
        }
    }

    @Override
    public void abort() {
        rollCall.close();
        link.abort();
    }
}
