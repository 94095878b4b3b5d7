package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
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
    private final Granting granting;
    private final AtomicBoolean over = new AtomicBoolean();
    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable HolderConnection holder;
    private final Watch rollCall;
    private final Turn turn;

    RabbitSession(RabbitBackend backend, String name, SessionListener listener) {
        this.backend = backend;
        this.names = new QueueNames(name);
        this.listener = listener;
        this.granting = new Granting(backend, names, held, memory);
        this.turn = new Turn(backend.mailbox(), names.encoded());
        this.rollCall = backend.mailbox().answerRollCalls(names.encoded(), held::entries);
    }

    @Override
    public ExchangeResult exchange(ExchangeRequest request) {
        try (InterruptShield shield = new InterruptShield()) {
            Set<Hold> lost = giveBack(request.giveBack());
            if (request.wants().isEmpty() || turn.isOfOthers(request)) {
                return refused(request, lost, turn.end());
            }
            try {
                return take(request, lost, shield);
            } catch (SemaphoreException e) {
                if (request.giveBack().isEmpty() || over.get()) {
                    throw e;
                }
                // What was given back is, and has to be told. The next exchange meets the same failure and tells that.
                LOG.debug("{}: could give back, but not take", subject(), e);
                return refused(request, lost, Deadline.at(System.nanoTime()));
            }
        } catch (LinkLostException e) {
            throw gone(e);
        } catch (SemaphoreException e) {
            throw e;
        } catch (RuntimeException e) {
            end("an error of this library: " + e);
            throw gone(e);
        }
    }

    private ExchangeResult refused(ExchangeRequest request, Set<Hold> lost, Deadline again) {
        List<Answer> refused = Collections.nCopies(request.wants().size(), Answer.FULL);
        return new ExchangeResult(
                lost, refused, Deadline.NEVER, refused.isEmpty() ? Deadline.NEVER : again, turn.isAnyoneElseWaiting());
    }

    private String subject() {
        return "Semaphore '" + names.semaphore() + "'";
    }

    private BackendUnavailableException gone(@Nullable Exception cause) {
        return Failures.unavailable(
                subject() + ": the connection is lost, and the permits with it"
                        + (cause == null ? "" : ": " + cause.getMessage()),
                cause);
    }

    @Override
    public ExchangeResult resolve(ExchangeRequest request) {
        end("the outcome of an exchange is unknown");
        throw gone(null);
    }

    /** Returns those that were not held any more. */
    private Set<Hold> giveBack(List<Hold> holds) throws LinkLostException {
        Set<Hold> lost = new HashSet<>();
        boolean freed = false;
        for (Hold hold : holds) {
            if (!held.contains(hold) || holder().look(names.hold(hold.slot())) != QueueAnswer.OK) {
                lost.add(hold);
            } else {
                holder().delete(names.hold(hold.slot()));
                memory.freed(hold.slot());
                freed = true;
            }
            held.remove(hold);
        }
        if (freed) {
            turn.begins();
            backend.mailbox().tellReleased(names.encoded());
        }
        return lost;
    }

    private ExchangeResult take(ExchangeRequest request, Set<Hold> lost, InterruptShield shield)
            throws LinkLostException {
        Granting.Granted granted = granting.take(request, holder(), shield);
        boolean full = granted.answers().contains(Answer.FULL);
        if (full && request.waiting()) {
            backend.mailbox().tellWaiting(names.encoded());
        }
        Deadline again = full ? recheck() : Deadline.NEVER;
        return new ExchangeResult(
                lost, granted.answers(), validFrom(granted.sent()), again, turn.isAnyoneElseWaiting());
    }

    /**
     * The broker frees the queues of a connection that is silent for two heartbeats at the earliest, counted from the
     * sending of the last request that it answered. A tenth of a heartbeat is left for the clocks of both sides.
     */
    private Deadline validFrom(long sent) {
        return Deadline.after(sent, RabbitBackend.validity(heartbeat()));
    }

    /** What the broker agreed to, which may be less than was asked for. */
    private Duration heartbeat() {
        HolderConnection present = holder;
        return present == null ? backend.heartbeat() : Duration.ofSeconds(present.heartbeat());
    }

    /** A holder that dies wakes nobody: who waits has to ask again. */
    private Deadline recheck() {
        long longest = backend.mailbox().isOpen() ? 500_000_000L : 100_000_000L;
        return Deadline.at(
                System.nanoTime() + longest / 2 + ThreadLocalRandom.current().nextLong(longest / 2));
    }

    private HolderConnection holder() {
        lock.lock();
        try {
            if (over.get()) {
                throw gone(null);
            }
            HolderConnection present = holder;
            if (present == null) {
                present = new HolderConnection(
                        backend.connections(), "semaphore " + names.semaphore(), this::connectionLost);
                holder = present;
                if (over.get()) {
                    // Aborted meanwhile.
                    present.drop("the session is over");
                    throw gone(null);
                }
                backend.mailbox().bindHolders(names.encoded());
            }
            return present;
        } finally {
            lock.unlock();
        }
    }

    private void connectionLost(String reason) {
        if (over.compareAndSet(false, true)) {
            listener.ended(reason);
        }
    }

    private void end(String reason) {
        HolderConnection present = present();
        if (present != null) {
            present.drop(reason);
        }
        connectionLost(reason);
    }

    private @Nullable HolderConnection present() {
        lock.lock();
        try {
            return holder;
        } finally {
            lock.unlock();
        }
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
            throw gone(e);
        }
    }

    private Set<Hold> lostOf(Collection<Hold> holds) throws LinkLostException {
        Set<Hold> lost = new HashSet<>();
        for (Hold hold : holds) {
            if (!held.contains(hold) || holder().look(names.hold(hold.slot())) != QueueAnswer.OK) {
                lost.add(hold);
            }
        }
        if (!lost.isEmpty()) {
            // Told before the slot may be taken again by this very session.
            listener.lost(lost, "its queue at the broker was deleted");
            held.removeAll(lost);
        }
        return lost;
    }

    private Set<Hold> retiredOf(List<Hold> holds) throws LinkLostException {
        List<String> slots = holds.stream().map(hold -> names.slot(hold.slot())).toList();
        List<Existence> found = backend.sight().look(slots, this::holder);
        Set<Hold> retired = new HashSet<>();
        for (int i = 0; i < holds.size(); i++) {
            if (found.get(i) == Existence.ABSENT && holder().look(slots.get(i)) == QueueAnswer.ABSENT) {
                retired.add(holds.get(i));
            }
        }
        return retired;
    }

    @Override
    public Duration renewEvery() {
        return RabbitBackend.renewEvery(heartbeat());
    }

    @Override
    public HoldState check(Hold hold) {
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            if (over.get() || !lostOf(List.of(hold)).isEmpty()) {
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
            over.set(true);
            rollCall.close();
            granting.close();
            HolderConnection present = present();
            if (present != null) {
                present.close();
                if (!held.isEmpty()) {
                    backend.mailbox().tellReleased(names.encoded());
                }
            }
        }
    }

    @Override
    public void abort() {
        over.set(true);
        rollCall.close();
        HolderConnection present = holder;
        if (present != null) {
            present.drop("the client was aborted");
        }
    }
}
