package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.Failures;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.LinkLostException;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.QueueAnswer;
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
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client's presence at one semaphore: a connection of its own, made for the first hold, whose end is the end of the
 * session. A request to take slots whose answer is missing costs the connection, so an unknown outcome ends with the session.
 */
final class RabbitSession implements BackendSession {
    private static final Logger LOG = LoggerFactory.getLogger(RabbitSession.class);

    private final RabbitBackend backend;
    private final QueueNames names;
    private final SessionListener listener;
    private final HeldSlots held = new HeldSlots();
    private final HolderCount count;
    private final FenceStream fences;
    private final SlotSearch search;
    private final Waiters waiters;
    private final SessionLink link;
    private final Watch membership;

    /** What was given back and not reported yet: if the exchange fails afterwards, the engine gives it back again. */
    private final Set<Hold> returned = new HashSet<>();

    /** What the broker had when it was looked at for a release that had too little time left for the deletion. */
    private final Set<Hold> seen = new HashSet<>();

    RabbitSession(RabbitBackend backend, String name, SessionListener listener) {
        this.backend = backend;
        this.names = new QueueNames(name);
        this.listener = listener;
        this.link = new SessionLink(backend, names, listener);
        this.count = new HolderCount(names, backend.connections()::executeIfPossible);
        this.fences = new FenceStream(backend.connections(), backend.probes(), names);
        this.search = new SlotSearch(backend.sight(), names, held, count, fences);
        this.waiters = new Waiters(backend.connections(), backend.probes(), backend.mailbox(), names);
        this.membership = backend.mailbox().join(names.encoded(), new Mailbox.Member(held, waiters));
    }

    @Override
    public ExchangeResult exchange(ExchangeRequest request) {
        CallBudget budget = budget();
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            waiters.waiting(request.waiting());
            Set<Hold> lost = giveBack(request, budget);
            if (request.wants().isEmpty()) {
                return result(List.of(), lost).build();
            }
            if (!request.hasAttempts() && !waiters.mayLook()) {
                return result(refusals(request), lost)
                        .recheck(waiters.nextLook())
                        .ahead(waiters.others())
                        .build();
            }
            try {
                return take(request, lost, budget);
            } catch (LinkLostException e) {
                return givenBackOnly(request, lost, link.goneWhileTaking(e));
            } catch (SemaphoreException e) {
                return givenBackOnly(request, lost, e);
            }
        } catch (SemaphoreException e) {
            throw e;
        } catch (RuntimeException e) {
            link.end("an error of this library: " + e);
            throw link.gone(e);
        }
    }

    /** An exchange could not take after it gave back. The give-back is done and is reported, if that is possible. */
    private ExchangeResult givenBackOnly(ExchangeRequest request, Set<Hold> lost, SemaphoreException failure) {
        if (request.giveBack().isEmpty() || request.hasAttempts()) {
            request.giveBack().stream().filter(hold -> !lost.contains(hold)).forEach(returned::add);
            throw failure;
        }
        // The next exchange meets the same failure and reports that, or has a new connection.
        LOG.debug("{}: could give back, but not take", names.subject(), failure);
        return result(refusals(request), lost)
                .recheck(Deadline.at(System.nanoTime()))
                .build();
    }

    /** Others that wait get their turn by the offers of releases, so the engine need not leave them one. */
    private static ExchangeResult.Builder result(List<Answer> answers, Set<Hold> lost) {
        return ExchangeResult.of(answers).lost(lost).othersWaiting(false);
    }

    private static List<Answer> refusals(ExchangeRequest request) {
        return Collections.nCopies(request.wants().size(), Answer.FULL);
    }

    /** The time of a call that begins now. */
    private CallBudget budget() {
        return CallBudget.of(names.subject(), backend.connections().settings().timeout());
    }

    @Override
    public ExchangeResult resolve(ExchangeRequest request) {
        link.end("the outcome of an exchange is unknown");
        throw link.gone(null);
    }

    /** Returns those that were not held any more. */
    private Set<Hold> giveBack(ExchangeRequest request, CallBudget budget) {
        Set<Hold> lost = new HashSet<>();
        try {
            giveBack(request.giveBack(), lost, budget);
        } catch (LinkLostException e) {
            if (request.hasAttempts()) {
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
        CompletableFuture<?> uncounted = count.remove(slots(ours), budget);
        // First, so that others, which have to be looked at, do not keep them from it again and again.
        List<Hold> before = ours.stream().filter(seen::contains).toList();
        delete(before, uncounted, budget);
        List<Hold> others = ours.stream().filter(hold -> !before.contains(hold)).toList();
        delete(present(others, budget), uncounted, budget);
        lost.addAll(holds);
        lost.removeIf(returned::remove);
        held.removeAll(holds);
    }

    /**
     * Deletes holds that were seen. A deletion without answer costs the connection with all permits on it. Where the look took so
     * long that the deletion might have none, nothing is done, and the next call need not look: it has all its time for the
     * deletion.
     */
    private void delete(List<Hold> present, CompletableFuture<?> uncounted, CallBudget budget)
            throws LinkLostException {
        if (present.isEmpty()) {
            return;
        }
        count.await(uncounted, budget);
        if (budget.isHalfOver()) {
            seen.addAll(present);
            throw Failures.unavailable(
                    budget.subject() + ": the broker answers slowly, so a release has to be tried again", null);
        }
        link.holder(budget).delete(names.holds(slots(present)), budget.end());
        present.forEach(seen::remove);
        returned.addAll(present);
        held.removeAll(present);
        if (!waiters.released(slots(present))) {
            slots(present).forEach(search::remember);
        }
    }

    private static List<Integer> slots(Collection<Hold> holds) {
        return holds.stream().map(Hold::slot).toList();
    }

    /** Those of our holds that the broker has. */
    private List<Hold> present(List<Hold> holds, CallBudget budget) throws LinkLostException {
        if (holds.isEmpty()) {
            return List.of();
        }
        List<QueueAnswer> answers = link.holder(budget).look(names.holds(slots(holds)), budget.end());
        List<Hold> present = new ArrayList<>();
        for (int i = 0; i < holds.size(); i++) {
            if (answers.get(i) == QueueAnswer.OK) {
                present.add(holds.get(i));
            }
        }
        return present;
    }

    private ExchangeResult take(ExchangeRequest request, Set<Hold> lost, CallBudget budget) throws LinkLostException {
        // Attempts alone are no look for those that wait: they take no offers, and put no look off.
        boolean forWaiters = request.hasWaiters();
        if (!forWaiters) {
            return take(request, false, List.of(), 0, lost, budget);
        }
        List<Waiters.Offer> offers = waiters.takeOffers();
        int enough = waiters.lookBegins(offers.size());
        boolean looked = false;
        try {
            ExchangeResult result = take(request, true, offers, enough, lost, budget);
            looked = true;
            return result;
        } finally {
            if (!looked) {
                waiters.lookFailed(offers);
            }
        }
    }

    private ExchangeResult take(
            ExchangeRequest request,
            boolean forWaiters,
            List<Waiters.Offer> offers,
            int enough,
            Set<Hold> lost,
            CallBudget budget)
            throws LinkLostException {
        offers.forEach(offer -> search.remember(offer.slot()));
        SlotSearch.Result taken = search.take(request, enough, waiters.areMany(), link.holder(budget), budget);
        link.awaitListening(budget);
        waiters.released(taken.unused());
        if (taken.missed()) {
            waiters.missed();
        }
        boolean full = taken.answers().contains(Answer.FULL);
        waiters.waiting(request.waiting() && (full || !forWaiters));
        // What nobody here could use is for others that wait, and what the last look in vain showed is not so any more.
        offers.stream()
                .filter(offer -> !taken.tried().get(offer.slot()) && !held.contains(offer.slot()))
                .forEach(waiters::passOn);
        if (full && forWaiters) {
            waiters.refused(taken.postponed());
        }
        return result(taken.answers(), lost)
                .validUntil(validFrom(taken.confirmed().confirmedFrom()))
                // A call that began later may know that the slot was removed.
                .sent(taken.confirmed().existedFrom())
                .recheck(full ? waiters.nextLook() : Deadline.NEVER)
                .ahead(waiters.others())
                .build();
    }

    /**
     * The broker frees the queues of a connection that is silent for two heartbeats at the earliest, counted from the
     * sending of the last request that it answered. A tenth of a heartbeat is left for the clocks of both sides.
     */
    private Deadline validFrom(long sent) {
        return Deadline.after(sent, RabbitBackend.validity(link.heartbeat()));
    }

    @Override
    public Renewal renew(Collection<Hold> holds) {
        CallBudget budget = CallBudget.of(names.subject(), renewalTime());
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            // A client that only holds has no other occasion to find out that it hears nothing.
            backend.mailbox().keepOpen();
            long sent = System.nanoTime();
            Set<Hold> lost = lostOf(holds, budget);
            List<Hold> still =
                    holds.stream().filter(hold -> !lost.contains(hold)).toList();
            return new Renewal(validFrom(sent), lost, maybeRetiredOf(still, budget));
        } catch (LinkLostException e) {
            throw link.gone(e);
        }
    }

    /** Two renewals that take so long, one after the other, are over before the permits are. */
    private Duration renewalTime() {
        Duration most = RabbitBackend.validity(link.heartbeat()).multipliedBy(2).dividedBy(5);
        Duration timeout = backend.connections().settings().timeout();
        return timeout.compareTo(most) < 0 ? timeout : most;
    }

    /** Those whose slot was removed; all of them if that is not known, for such a hold is not handed on. */
    private Set<Hold> maybeRetiredOf(List<Hold> holds, CallBudget budget) throws LinkLostException {
        try {
            // Not the usual quarter: of a short time that is so little that a connection would be dropped that is only
            // slow.
            return retiredOf(holds, budget.whole().dividedBy(2), budget);
        } catch (BackendUnavailableException e) {
            // The broker has confirmed the holds, and that it does not answer to this must not cost them.
            LOG.debug("{}: it is not known which slots are still there", budget.subject(), e);
            return Set.copyOf(holds);
        }
    }

    private Set<Hold> lostOf(Collection<Hold> holds, CallBudget budget) throws LinkLostException {
        List<Hold> ours = holds.stream().filter(held::contains).toList();
        Set<Hold> lost = new HashSet<>(holds);
        present(ours, budget).forEach(lost::remove);
        if (!lost.isEmpty()) {
            List<Hold> counted = lost.stream().filter(held::contains).toList();
            // First, or another client that hears of the loss and asks at once is refused by the count.
            count.await(count.remove(slots(counted), budget), budget);
            // Told before the slot may be taken again by this very session.
            listener.lost(lost, "its queue at the broker was deleted");
            held.removeAll(lost);
        }
        return lost;
    }

    private Set<Hold> retiredOf(List<Hold> holds, Duration probing, CallBudget budget) throws LinkLostException {
        List<String> queues =
                holds.stream().map(hold -> names.slot(hold.slot())).toList();
        BitSet present = backend.sight().lookForHeld(queues, () -> link.holder(budget), probing, budget);
        Set<Hold> retired = new HashSet<>();
        for (int i = present.nextClearBit(0); i < holds.size(); i = present.nextClearBit(i + 1)) {
            if (link.holder(budget).look(queues.get(i), budget.end()) == QueueAnswer.ABSENT) {
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
            return retiredOf(List.of(hold), budget.probing(), budget).isEmpty() ? HoldState.HELD : HoldState.RETIRED;
        } catch (LinkLostException e) {
            return HoldState.LOST;
        }
    }

    @Override
    public Watch watch(Runnable hint) {
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            return waiters.watch(hint, budget());
        }
    }

    @Override
    public void close() {
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            membership.close();
            fences.close();
            if (link.close(budget().patience())) {
                waiters.released(held.slots());
            }
        }
    }

    @Override
    public void abort() {
        membership.close();
        link.abort();
    }
}
