package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.rabbitmq.HolderConnection.LinkLostException;
import io.github.distributedsemaphore.rabbitmq.HolderConnection.QueueAnswer;
import io.github.distributedsemaphore.rabbitmq.ProbeChannel.Existence;
import io.github.distributedsemaphore.rabbitmq.SlotSearch.SlotMemory;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client's presence at one semaphore: a connection of its own, made for the first hold, whose end is the end of the
 * session. A request to take slots whose answer is missing costs the connection, so an unknown outcome ends with the session.
 */
final class RabbitSession implements BackendSession {
    private static final Logger LOG = LoggerFactory.getLogger(RabbitSession.class);

    private static final Duration TURN = Duration.ofMillis(30);

    private final RabbitBackend backend;
    private final QueueNames names;
    private final SessionListener listener;
    private final HeldSlots held = new HeldSlots();
    private final SlotMemory memory = new SlotMemory();
    private final HolderCount count;
    private final Granting granting;
    private final SessionLink link;
    private final Watch rollCall;
    /** When the waiter said so that had the last turn; empty if that is not known. */
    private OptionalLong answered = OptionalLong.empty();

    /** What was given back by an exchange that failed afterwards for its attempts: the engine gives it back again. */
    private final Set<Hold> returned = new HashSet<>();

    private Deadline turn = Deadline.at(System.nanoTime());

    RabbitSession(RabbitBackend backend, String name, SessionListener listener) {
        this.backend = backend;
        this.names = new QueueNames(name);
        this.listener = listener;
        this.link = new SessionLink(backend, names, listener);
        this.count = new HolderCount(names, backend.connections()::execute);
        this.granting = new Granting(backend, names, held, memory, count);
        this.rollCall = backend.mailbox().answerRollCalls(names.encoded(), held::entries);
    }

    @Override
    public ExchangeResult exchange(ExchangeRequest request) {
        CallBudget budget = budget();
        try (InterruptShield shield = new InterruptShield()) {
            Set<Hold> lost = giveBack(request, budget);
            if (lost.size() < request.giveBack().size()) {
                beginTurnOfOthers();
            }
            if (request.wants().isEmpty()) {
                return result(List.of(), lost).build();
            }
            try {
                return take(request, lost, budget, shield);
            } catch (SemaphoreException e) {
                if (request.giveBack().isEmpty() || isAnyAttempt(request)) {
                    request.giveBack().stream()
                            .filter(hold -> !lost.contains(hold))
                            .forEach(returned::add);
                    throw e;
                }
                // The give-back is done and must be reported. The next exchange meets the same failure and reports
                // that.
                LOG.debug("{}: could give back, but not take", budget.subject(), e);
                return result(Collections.nCopies(request.wants().size(), Answer.FULL), lost)
                        .recheck(Deadline.at(System.nanoTime()))
                        .build();
            }
        } catch (LinkLostException e) {
            throw link.goneWhileTaking(e);
        } catch (SemaphoreException e) {
            throw e;
        } catch (RuntimeException e) {
            link.end("an error of this library: " + e);
            throw link.gone(e);
        }
    }

    private ExchangeResult.Builder result(List<Answer> answers, Set<Hold> lost) {
        return ExchangeResult.of(answers)
                .lost(lost)
                .othersWaiting(backend.mailbox().isAnyoneWaiting(names.encoded()))
                .yieldFor(turn.remaining());
    }

    /**
     * Leaves a slot that was given back to others for a while, if they wait. They have to hear of it, to look and to declare, which takes a
     * few round trips; this client itself would nearly always be faster. A client that says that it waits gets one such turn;
     * if it comes away empty-handed, it says so again.
     */
    private void beginTurnOfOthers() {
        OptionalLong heard = backend.mailbox().lastWaiter(names.encoded());
        if (!backend.mailbox().isOpen() || (heard.isPresent() && !heard.equals(answered))) {
            answered = heard;
            turn = Deadline.after(System.nanoTime(), TURN);
        }
    }

    /** The time of a call that begins now. */
    private CallBudget budget() {
        return CallBudget.of(subject(), backend.connections().settings().timeout());
    }

    private String subject() {
        return "Semaphore '" + names.semaphore() + "'";
    }

    @Override
    public ExchangeResult resolve(ExchangeRequest request) {
        link.end("the outcome of an exchange is unknown");
        throw link.gone(null);
    }

    /** Whether a refusal is an answer for some of the calls. */
    private static boolean isAnyAttempt(ExchangeRequest request) {
        return request.attempts() > 0 || !(request.waiting() || request.wants().isEmpty());
    }

    /** Returns those that were not held any more. */
    private Set<Hold> giveBack(ExchangeRequest request, CallBudget budget) {
        Set<Hold> lost = new HashSet<>();
        try {
            giveBack(request.giveBack(), lost, budget);
        } catch (LinkLostException e) {
            if (isAnyAttempt(request)) {
                throw link.gone(e);
            }
            // The end of the connection gives back what it had, and that is how these are given back.
            LOG.debug("{}: given back by the end of the connection", budget.subject(), e);
        }
        return lost;
    }

    private void giveBack(List<Hold> holds, Set<Hold> lost, CallBudget budget) throws LinkLostException {
        List<Hold> ours = holds.stream().filter(held::contains).toList();
        // Meanwhile it is looked whether they are still held.
        CompletableFuture<?> uncounted =
                count.remove(ours.stream().map(Hold::slot).toList());
        List<Hold> present = present(ours, budget);
        if (!present.isEmpty()) {
            count.await(uncounted);
            link.holder(budget).delete(queues(present), budget.end());
            present.forEach(hold -> memory.freed(hold.slot()));
            backend.mailbox().tellReleased(names.encoded());
        }
        lost.addAll(holds);
        present.forEach(lost::remove);
        lost.removeIf(returned::remove);
        held.removeAll(holds);
    }

    /** Those of our holds that the broker has. */
    private List<Hold> present(List<Hold> holds, CallBudget budget) throws LinkLostException {
        if (holds.isEmpty()) {
            return List.of();
        }
        List<QueueAnswer> answers = link.holder(budget).look(queues(holds), budget.end());
        List<Hold> present = new ArrayList<>();
        for (int i = 0; i < holds.size(); i++) {
            if (answers.get(i) == QueueAnswer.OK) {
                present.add(holds.get(i));
            }
        }
        return present;
    }

    private List<String> queues(List<Hold> holds) {
        return names.holds(holds.stream().map(Hold::slot).toList());
    }

    private ExchangeResult take(ExchangeRequest request, Set<Hold> lost, CallBudget budget, InterruptShield shield)
            throws LinkLostException {
        Granting.Granted granted = granting.take(request, link.holder(budget), budget, shield);
        link.awaitListening(budget);
        boolean full = granted.answers().contains(Answer.FULL);
        if (full && request.waiting() && !granted.postponed()) {
            backend.mailbox().tellWaiting(names.encoded());
        }
        return result(granted.answers(), lost)
                .validUntil(validFrom(granted.sent()))
                .recheck(full ? recheck(granted.postponed()) : Deadline.NEVER)
                .build();
    }

    /**
     * The broker frees the queues of a connection that is silent for two heartbeats at the earliest, counted from the
     * sending of the last request that it answered. A tenth of a heartbeat is left for the clocks of both sides.
     */
    private Deadline validFrom(long sent) {
        return Deadline.after(sent, RabbitBackend.validity(link.heartbeat()));
    }

    /** A holder that dies wakes no waiter: a waiter has to ask again. */
    private Deadline recheck(boolean postponed) {
        long longest = backend.mailbox().isOpen() ? 500_000_000L : 100_000_000L;
        if (postponed) {
            longest = 10_000_000L;
        }
        return Deadline.at(
                System.nanoTime() + longest / 2 + ThreadLocalRandom.current().nextLong(longest / 2));
    }

    @Override
    public Renewal renew(Collection<Hold> holds) {
        CallBudget budget = budget();
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            long sent = System.nanoTime();
            Set<Hold> lost = lostOf(holds, budget);
            List<Hold> still =
                    holds.stream().filter(hold -> !lost.contains(hold)).toList();
            return new Renewal(validFrom(sent), lost, retiredOf(still, budget));
        } catch (LinkLostException e) {
            throw link.gone(e);
        }
    }

    private Set<Hold> lostOf(Collection<Hold> holds, CallBudget budget) throws LinkLostException {
        List<Hold> ours = holds.stream().filter(held::contains).toList();
        Set<Hold> lost = new HashSet<>(holds);
        present(ours, budget).forEach(lost::remove);
        if (!lost.isEmpty()) {
            count.await(count.remove(
                    lost.stream().filter(held::contains).map(Hold::slot).toList()));
            // Told before the slot may be taken again by this very session.
            listener.lost(lost, "its queue at the broker was deleted");
            held.removeAll(lost);
        }
        return lost;
    }

    private Set<Hold> retiredOf(List<Hold> holds, CallBudget budget) throws LinkLostException {
        List<String> slots = holds.stream().map(hold -> names.slot(hold.slot())).toList();
        List<Existence> found = backend.sight().look(slots, () -> link.holder(budget), budget);
        Set<Hold> retired = new HashSet<>();
        for (int i = 0; i < holds.size(); i++) {
            if (found.get(i) == Existence.ABSENT
                    && link.holder(budget).look(slots.get(i), budget.end()) == QueueAnswer.ABSENT) {
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
        CallBudget budget = budget();
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            if (link.isOver() || !lostOf(List.of(hold), budget).isEmpty()) {
                return HoldState.LOST;
            }
            return retiredOf(List.of(hold), budget).isEmpty() ? HoldState.HELD : HoldState.RETIRED;
        } catch (LinkLostException e) {
            return HoldState.LOST;
        }
    }

    @Override
    public Watch watch(Runnable hint) {
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            return backend.mailbox().watch(names.encoded(), hint, budget());
        }
    }

    @Override
    public void close() {
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            rollCall.close();
            granting.close();
            if (link.close(budget().patience()) && !held.isEmpty()) {
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
