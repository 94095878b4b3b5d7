package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.InterruptShield;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Takes and gives back slots by check-and-set of the coordination key. When nobody else has changed it since the last
 * exchange, that is one round trip and one commit. For one thread at a time.
 */
final class ConsulExchange {
    private final PlanSender sender;
    private final PrefixReader reader;
    private final SessionPool pool;
    private final long ttlNanos;
    private final String subject;
    private final BooleanSupplier othersPresent;

    private final Turns turns = new Turns();

    /** What is known of the prefix; null if it has to be read. */
    private @Nullable PrefixView known;

    private int lossesThen;

    /** When the plan was sent first that is, or was last, under way. */
    private long sentNanos;

    /** An exchange of which nobody knows whether it was done. */
    private @Nullable ExchangePlan unresolved;

    ConsulExchange(
            PlanSender sender,
            PrefixReader reader,
            SessionPool pool,
            ConsulSettings settings,
            String subject,
            BooleanSupplier othersPresent) {
        this.sender = sender;
        this.reader = reader;
        this.pool = pool;
        this.ttlNanos = settings.ttl().toNanos();
        this.subject = subject;
        this.othersPresent = othersPresent;
    }

    /** See {@link io.github.distributedsemaphore.spi.BackendSession#exchange}. */
    ExchangeResult exchange(ExchangeRequest request, InterruptShield shield) {
        if (othersPresent.getAsBoolean() && turns.leave(request, shield)) {
            known = null;
        }
        Attempts attempts = new Attempts();
        Set<Hold> lost = new HashSet<>();
        Set<Hold> returned = new HashSet<>();
        while (true) {
            Map<Hold, SlotSession> releases = beginReleases(request, returned, lost);
            if (attempts.isTimeToForceRelease()) {
                endSessions(releases, returned);
            }
            ExchangePlan plan;
            try {
                plan = assigned(request, releases);
            } catch (IncompatibleStateException e) {
                return giveBackAnyhow(request, releases, lost, e);
            }
            if (plan.isEmpty()) {
                return nothingToWrite(plan, lost);
            }
            sentNanos = System.nanoTime();
            Transaction.Outcome outcome = sender.send(plan);
            switch (outcome.status()) {
                case OK -> {
                    return done(plan, outcome.indexes(), lost);
                }
                case CONFLICT -> notDone(plan);
                case SESSION_DEAD -> sessionDead(plan, outcome);
                case DENIED, NOT_DONE -> {
                    notDone(plan);
                    throw outcome.status() == Transaction.Status.DENIED
                            ? Failures.denied(subject, outcome.text())
                            : new BackendUnavailableException(subject + ": nothing was done, " + outcome.text(), null);
                }
                case UNKNOWN -> {
                    unresolved = plan;
                    known = null;
                    ExchangeResult result = settle(plan, outcome.text(), attempts.end(), lost);
                    if (result != null) {
                        return result;
                    }
                    // It is sure now that it was not done, but for what was given back already.
                    returned.addAll(plan.releases().keySet());
                }
            }
            if (!attempts.goesOn()) {
                if (!returned.isEmpty()) {
                    return onlyGaveBack(request, lost);
                }
                throw new BackendUnavailableException(
                        subject + ": nothing was done, for others changed it all the time: " + outcome.text(), null);
            }
            shield.pause(attempts.backOffNanos());
        }
    }

    /** The slot of a session that has ended is free, whoever changes the list meanwhile. */
    private void endSessions(Map<Hold, SlotSession> releases, Set<Hold> returned) {
        releases.entrySet().removeIf(release -> pool.destroy(release.getValue()) && returned.add(release.getKey()));
        known = null;
    }

    /** Finds out what the unresolved exchange did, or makes sure that it is not done any more. */
    ExchangeResult resolve(ExchangeRequest request, InterruptShield shield) {
        Deadline end = new Attempts().end();
        Set<Hold> lost = new HashSet<>();
        ExchangePlan plan = unresolved;
        Set<Hold> maybeReturned = plan == null ? Set.of() : plan.releases().keySet();
        ExchangeResult result = plan == null ? null : settle(plan, "asking again", end, lost);
        if (result == null) {
            ExchangeRequest giveBack = new ExchangeRequest(request.giveBack(), List.of(), 1, request.waiting());
            ExchangeResult gaveBack = exchange(giveBack, shield);
            lost.addAll(gaveBack.lost());
            lost.removeAll(maybeReturned);
            result = onlyGaveBack(request, lost);
        }
        return result;
    }

    /** Takes out what is to be given back; what is not held any more is lost, unless an earlier attempt gave it back. */
    private Map<Hold, SlotSession> beginReleases(ExchangeRequest request, Set<Hold> returned, Set<Hold> lost) {
        Map<Hold, SlotSession> releases = new HashMap<>();
        lost.clear();
        for (Hold hold : request.giveBack()) {
            SlotSession session = pool.beginRelease(hold);
            if (session != null) {
                releases.put(hold, session);
            } else if (!returned.contains(hold)) {
                lost.add(hold);
            }
        }
        return releases;
    }

    private ExchangePlan assigned(ExchangeRequest request, Map<Hold, SlotSession> releases) {
        boolean assigned = false;
        try {
            ExchangePlan plan = plan(request, releases);
            plan.assign(pool.take(plan.takersNeeded()));
            assigned = true;
            return plan;
        } finally {
            if (!assigned) {
                releases.values().forEach(pool::notReleased);
            }
        }
    }

    /** What cannot be read cannot be changed either, but a session can be ended: then its slot counts for nobody. */
    private ExchangeResult giveBackAnyhow(
            ExchangeRequest request, Map<Hold, SlotSession> releases, Set<Hold> lost, IncompatibleStateException e) {
        if (releases.isEmpty()) {
            throw e;
        }
        releases.values().forEach(pool::destroy);
        return onlyGaveBack(request, lost);
    }

    /** Who waits learns with the next exchange why it was not served: this one has changed something. */
    private ExchangeResult onlyGaveBack(ExchangeRequest request, Set<Hold> lost) {
        return result(lost, Collections.nCopies(request.wants().size(), Answer.FULL), Deadline.NEVER);
    }

    /** Nobody is refused for what was seen a while ago: then it is read again. */
    private ExchangePlan plan(ExchangeRequest request, Map<Hold, SlotSession> releases) {
        PrefixView last = known;
        if (last != null && lossesThen == pool.losses()) {
            ExchangePlan plan = ExchangePlan.of(last, request, releases);
            if (!plan.refusesSomebody() && !plan.isEmpty()) {
                return plan;
            }
        }
        lossesThen = pool.losses();
        PrefixView view = reader.read();
        known = view;
        if (releases.isEmpty() && !request.wants().isEmpty()) {
            view.requireOneLimit();
        }
        return ExchangePlan.of(view, request, releases);
    }

    private ExchangeResult nothingToWrite(ExchangePlan plan, Set<Hold> lost) {
        sender.clearDeserted(plan.view());
        plan.releases().forEach((hold, session) -> {
            // Somebody took it out of the list; the session is as good as new.
            lost.add(hold);
            pool.released(hold, session);
        });
        return result(lost, plan.answers(List.of()), Deadline.NEVER);
    }

    private ExchangeResult done(ExchangePlan plan, Map<String, Long> indexes, Set<Hold> lost) {
        known = plan.viewAfter(indexes);
        return granted(plan, plan.entryIndexes(indexes), lost);
    }

    private ExchangeResult granted(ExchangePlan plan, Map<String, Long> entryIndexes, Set<Hold> lost) {
        unresolved = null;
        plan.releases().forEach(pool::released);
        Map<SlotSession, Hold> holds = plan.holds(entryIndexes);
        holds.forEach(pool::granted);
        turns.granted(holds.size());
        holds.keySet().forEach(pool::freshen);
        long confirmed = holds.keySet().stream()
                .mapToLong(SlotSession::confirmedNanos)
                .reduce((a, b) -> a - b < 0 ? a : b)
                .orElseGet(System::nanoTime);
        Deadline validUntil = holds.isEmpty() ? Deadline.NEVER : Deadline.at(confirmed + ttlNanos);
        return result(lost, plan.answers(new ArrayList<>(holds.values())), validUntil);
    }

    private ExchangeResult result(Set<Hold> lost, List<Answer> answers, Deadline validUntil) {
        return ExchangeResult.of(answers)
                .lost(lost)
                .validUntil(validUntil)
                .othersWaiting(othersPresent.getAsBoolean())
                .sent(sentNanos)
                .build();
    }

    private void notDone(ExchangePlan plan) {
        known = null;
        turns.begin();
        plan.releases().values().forEach(pool::notReleased);
        pool.putBack(plan.takers());
    }

    private void sessionDead(ExchangePlan plan, Transaction.Outcome outcome) {
        plan.takers().stream()
                .filter(taker -> outcome.text().contains(taker.id()))
                .findFirst()
                .ifPresentOrElse(pool::drop, () -> plan.takers().forEach(pool::destroy));
        notDone(plan);
    }

    /**
     * Reads what became of a plan, and sends it again as long as it can still be done: it holds the same nonce, so it is
     * done once at most.
     *
     * @return null if it was not done and cannot be done any more
     * @throws OutcomeUnknownException if that cannot be told by the deadline
     */
    private @Nullable ExchangeResult settle(ExchangePlan plan, String reason, Deadline end, Set<Hold> lost) {
        String last = reason;
        while (true) {
            PrefixView view = reader.readOrUnknown(last);
            if (plan.isDoneIn(view)) {
                known = view;
                return granted(plan, plan.entryIndexesIn(view), lost);
            }
            if (view.lockIndex() != plan.view().lockIndex()) {
                return giveUp(plan);
            }
            Transaction.Outcome outcome = sender.send(plan);
            if (outcome.status() == Transaction.Status.OK) {
                return done(plan, outcome.indexes(), lost);
            }
            if (outcome.status() == Transaction.Status.SESSION_DEAD) {
                return giveUp(plan);
            }
            last = outcome.text();
            if (end.isPast(System.nanoTime()) || outcome.status() == Transaction.Status.DENIED) {
                throw Failures.unknown(subject, last);
            }
        }
    }

    /** A request that is still under way does nothing once the sessions that it names have ended. */
    private @Nullable ExchangeResult giveUp(ExchangePlan plan) {
        for (SlotSession taker : plan.takers()) {
            if (!pool.destroy(taker)) {
                throw Failures.unknown(subject, "session " + taker.id() + " could not be ended");
            }
        }
        unresolved = null;
        notDone(plan);
        return null;
    }
}
