package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.consul.PrefixView.Contender;
import io.github.distributedsemaphore.consul.SessionPool.SlotSession;
import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Takes and gives back slots by check-and-set of the coordination key. When nobody else has changed it since the last
 * exchange, that is one round trip and one commit. For one thread at a time.
 */
final class ConsulExchange {
    /** When to ask again for callers that were not served, although no slot was taken from them. */
    private static final Duration SOON = Duration.ofMillis(50);

    private final ConsulHttp http;
    private final HolderInfo self;
    private final PrefixReader reader;
    private final SessionCalls calls;
    private final SessionPool pool;
    private final String subject;
    private final PrefixWatcher watcher;
    private final KnownPrefix known;

    /** When the plan was sent first that is, or was last, under way. */
    private long sentNanos;

    /** The plan that is under way, or of which nobody knows whether it was done. */
    private @Nullable ExchangePlan unresolved;

    /** What was given back, or may have been, and was not answered so yet: that it is not held any more is no loss. */
    private final Set<Hold> maybeReturned = new HashSet<>();

    ConsulExchange(
            ConsulHttp http,
            PrefixReader reader,
            SessionCalls calls,
            SessionPool pool,
            ConsulSettings settings,
            String subject,
            PrefixWatcher watcher) {
        this.http = http;
        this.self = settings.self();
        this.reader = reader;
        this.calls = calls;
        this.pool = pool;
        this.subject = subject;
        this.watcher = watcher;
        this.known = new KnownPrefix(reader, pool, watcher);
    }

    /**
     * See {@link io.github.distributedsemaphore.spi.BackendSession#exchange}.
     *
     * @param end when it has to be over
     */
    ExchangeResult exchange(ExchangeRequest request, Deadline end, InterruptShield shield) {
        ExchangeResult result = exchange(request, new Attempts(end), shield);
        maybeReturned.removeAll(request.giveBack());
        return result;
    }

    private ExchangeResult exchange(ExchangeRequest request, Attempts attempts, InterruptShield shield) {
        Deadline end = attempts.end();
        Set<Hold> lost = new HashSet<>();
        Set<Hold> missing = Set.of();
        while (true) {
            Map<Hold, SlotSession> releases = beginReleases(request, lost);
            if (attempts.isTimeToForceRelease()) {
                missing.stream().filter(hold -> !maybeReturned.contains(hold)).forEach(lost::add);
                endSessions(releases, missing, end);
            }
            ExchangePlan plan;
            try {
                plan = assigned(request, releases, attempts.isFirst(), end);
            } catch (IncompatibleStateException e) {
                return giveBackAnyhow(request, releases, lost, end, e);
            }
            if (plan.isEmpty()) {
                return nothingToWrite(plan, lost, end);
            }
            missing = plan.missing();
            sentNanos = System.nanoTime();
            // Noted before it is sent: whatever is thrown from here on, it can be found out about.
            unresolved = plan;
            Transaction.Outcome outcome = send(plan, attempts.endOfChange());
            switch (outcome.status()) {
                case OK -> {
                    return done(plan, outcome.indexes(), lost, end);
                }
                case CONFLICT -> notDone(plan);
                case SESSION_DEAD -> sessionDead(plan, outcome, end);
                case DENIED, NOT_DONE -> {
                    notDone(plan);
                    throw outcome.failure(subject);
                }
                case UNKNOWN -> {
                    known.forget();
                    ExchangeResult result = settle(plan, outcome.text(), attempts, shield, lost);
                    if (result != null) {
                        return result;
                    }
                }
            }
            if (!attempts.goesOn()) {
                return overtaken(request, releases, lost, outcome.text());
            }
            attempts.backOff(shield);
        }
    }

    /** Others came in between until the time was over. */
    private ExchangeResult overtaken(
            ExchangeRequest request, Map<Hold, SlotSession> releases, Set<Hold> lost, String last) {
        if (releases.isEmpty() && !request.hasAttempts()) {
            // Callers that wait are asked for again: the server answers, so this is no failure to them.
            return unserved(request, Answer.FULL, lost);
        }
        if (Collections.disjoint(maybeReturned, request.giveBack())) {
            throw new BackendUnavailableException(
                    subject + ": nothing was done, for others changed it all the time: " + last, null);
        }
        throw Transaction.unknown(subject, "others changed it all the time: " + last);
    }

    /** The slot of a session that has ended is free, whoever changes the list meanwhile. Leaves those that may not have ended. */
    private void endSessions(Map<Hold, SlotSession> releases, Set<Hold> missing, Deadline end) {
        mayBeReturned(releases.keySet(), missing);
        releases.entrySet().removeIf(release -> pool.endRelease(release.getKey(), release.getValue(), end));
        known.forget();
    }

    private void mayBeReturned(Set<Hold> releases, Set<Hold> missing) {
        releases.stream().filter(hold -> !missing.contains(hold)).forEach(maybeReturned::add);
    }

    /** Finds out what the unresolved exchange did, or makes sure that it is not done any more. */
    ExchangeResult resolve(ExchangeRequest request, Deadline end, InterruptShield shield) {
        ExchangePlan plan = unresolved;
        // What the exchange did not find any more is not in its plan.
        Set<Hold> lost = new HashSet<>(request.giveBack());
        lost.removeAll(maybeReturned);
        lost.removeAll(plan == null ? Set.of() : plan.releases().keySet());
        ExchangeResult result = plan == null ? null : settle(plan, "asking again", new Attempts(end), shield, lost);
        if (result == null) {
            ExchangeRequest giveBack = new ExchangeRequest(request.giveBack(), List.of(), 1, request.waiting());
            return unserved(
                    request, Answer.NOT_DONE, exchange(giveBack, end, shield).lost());
        }
        maybeReturned.removeAll(request.giveBack());
        // What was found out about may be the giving back of an earlier call of this method: then the wants are not
        // done.
        return result.answers().size() == request.wants().size() ? result : unserved(request, Answer.NOT_DONE, lost);
    }

    /** Takes out what is to be given back; what is not held any more is lost, unless an earlier attempt gave it back. */
    private Map<Hold, SlotSession> beginReleases(ExchangeRequest request, Set<Hold> lost) {
        Map<Hold, SlotSession> releases = new HashMap<>();
        lost.clear();
        for (Hold hold : request.giveBack()) {
            SlotSession session = pool.beginRelease(hold);
            if (session != null) {
                releases.put(hold, session);
            } else if (!maybeReturned.contains(hold)) {
                lost.add(hold);
            }
        }
        return releases;
    }

    private ExchangePlan assigned(
            ExchangeRequest request, Map<Hold, SlotSession> releases, boolean first, Deadline end) {
        boolean assigned = false;
        try {
            ExchangePlan plan = plan(request, releases, first, end);
            known.leaves(plan);
            plan.assign(pool.take(plan.takersNeeded(), plan.servesWaiting(), end));
            if (request.hasWaiters()) {
                watcher.waitsFor(plan.wantedInVain(), plan.servesWaiting());
            }
            if (plan.wantedInVain() > 0 && !plan.isEmpty()) {
                plan.keepPlace(pool.chooseForPlace(releases.values(), plan.takers()));
            }
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
            ExchangeRequest request,
            Map<Hold, SlotSession> releases,
            Set<Hold> lost,
            Deadline end,
            IncompatibleStateException e) {
        endSessions(releases, Set.of(), end);
        if (!releases.isEmpty()) {
            throw Transaction.unknown(subject, "a session could not be ended; " + e.getMessage());
        }
        if (request.giveBack().isEmpty() || request.hasAttempts()) {
            // The holds of the request are given back nevertheless; the next one that names them is told so.
            throw e;
        }
        return unserved(request, Answer.FULL, lost);
    }

    private ExchangeResult unserved(ExchangeRequest request, Answer why, Set<Hold> lost) {
        return result(lost, Collections.nCopies(request.wants().size(), why), Deadline.NEVER)
                .recheck(Deadline.after(System.nanoTime(), SOON))
                .build();
    }

    /**
     * Plans upon the newest that was seen, as the transaction says whether that is out of date. Nobody is refused for it but callers
     * that go on waiting: the watch tells them when it has changed. No hold counts as lost for it, since the watch may be behind.
     *
     * @param first whether this is the first attempt: after a conflict it is read again
     */
    private ExchangePlan plan(ExchangeRequest request, Map<Hold, SlotSession> releases, boolean first, Deadline end) {
        PrefixView last = first ? known.newest() : null;
        if (last != null) {
            ExchangePlan plan = ExchangePlan.of(last, request, releases, pool.idleIds(), known.row(last));
            boolean losesHolds = plan.isEmpty() && !releases.isEmpty();
            if (!plan.refusesForGood() && !losesHolds && (!plan.isEmpty() || known.isJustSeen(last))) {
                return plan;
            }
        }
        PrefixView view = known.read(end);
        if (request.hasAttempts() || (releases.isEmpty() && !request.wants().isEmpty())) {
            view.requireOneLimit();
        }
        return ExchangePlan.of(view, request, releases, pool.idleIds(), known.row(view));
    }

    private ExchangeResult nothingToWrite(ExchangePlan plan, Set<Hold> lost, Deadline end) {
        if (plan.wantedInVain() > 0) {
            watcher.makeDuePlace(plan.view());
        }
        DestroyedLocks.clear(plan.view(), http, end);
        endReleases(plan, lost);
        return result(plan, lost, List.of(), Deadline.NEVER);
    }

    private ExchangeResult done(ExchangePlan plan, Map<String, Long> indexes, Set<Hold> lost, Deadline end) {
        PrefixView after = plan.viewAfter(indexes);
        known.note(after);
        return granted(plan, after, lost, end);
    }

    private ExchangeResult granted(ExchangePlan plan, PrefixView after, Set<Hold> lost, Deadline end) {
        Map<SlotSession, Hold> holds = plan.holds(after);
        unresolved = null;
        holds.forEach(pool::granted);
        SlotSession place = plan.place();
        Contender entry = place == null ? null : after.contenders().get(place.id());
        endPlacing(plan, place, entry == null ? 0 : entry.modifyIndex());
        endReleases(plan, lost);
        calls.freshen(holds.keySet(), end);
        return result(plan, lost, new ArrayList<>(holds.values()), calls.aliveUntil(holds.keySet()));
    }

    /** What somebody has taken out of the list is lost: that is read, or proved by the transaction. The sessions are as good as new. */
    private void endReleases(ExchangePlan plan, Set<Hold> lost) {
        plan.missing().stream().filter(hold -> !maybeReturned.contains(hold)).forEach(lost::add);
        plan.releases().forEach(pool::released);
    }

    private void endPlacing(ExchangePlan plan, @Nullable SlotSession made, long index) {
        SlotSession chosen = plan.place();
        if (chosen != null) {
            pool.placed(made, index);
            pool.putBack(List.of(chosen));
            plan.keepPlace(null);
        }
    }

    /** Callers for which a slot is free look again when the others had the time to take it. */
    private ExchangeResult result(ExchangePlan plan, Set<Hold> lost, List<Hold> holds, Deadline validUntil) {
        ExchangeResult.Builder result =
                result(lost, plan.answers(holds), validUntil).othersWaiting(plan.othersWait());
        return plan.wantedInVain() == 0 || plan.kept().isEmpty()
                ? result.build()
                : result.recheck(Deadline.after(System.nanoTime(), WaitingOrder.PATIENCE))
                        .build();
    }

    private ExchangeResult.Builder result(Set<Hold> lost, List<Answer> answers, Deadline validUntil) {
        return ExchangeResult.of(answers).lost(lost).validUntil(validUntil).sent(sentNanos);
    }

    private void notDone(ExchangePlan plan) {
        unresolved = null;
        known.forget();
        endPlacing(plan, null, 0);
        plan.releases().values().forEach(pool::notReleased);
        pool.putBack(plan.takers());
    }

    private void sessionDead(ExchangePlan plan, Transaction.Outcome outcome, Deadline end) {
        Stream.concat(plan.takers().stream(), Stream.ofNullable(plan.place()))
                .filter(taker -> outcome.text().contains(taker.id()))
                .findFirst()
                .ifPresentOrElse(pool::drop, () -> plan.takers().forEach(taker -> pool.destroy(taker, end)));
        notDone(plan);
    }

    /**
     * Reads what became of a plan, and sends it again as long as it can still be done: it holds the same nonce, so it is
     * done once at most.
     *
     * @return null if it was not done and cannot be done any more
     * @throws OutcomeUnknownException if that is not known by the deadline
     */
    private @Nullable ExchangeResult settle(
            ExchangePlan plan, String reason, Attempts attempts, InterruptShield shield, Set<Hold> lost) {
        Deadline end = attempts.end();
        Attempts requests = new Attempts(end);
        String last = reason;
        mayBeReturned(plan.releases().keySet(), plan.missing());
        while (true) {
            PrefixView view = reader.readOrUnknown(end, last);
            if (plan.isDoneIn(view)) {
                known.note(view);
                return granted(plan, view, lost, end);
            }
            if (plan.isOutdatedBy(view)) {
                return giveUp(plan, end);
            }
            Transaction.Outcome outcome = send(plan, attempts.endOfChange());
            if (outcome.status() == Transaction.Status.OK) {
                return done(plan, outcome.indexes(), lost, end);
            }
            if (outcome.status() == Transaction.Status.SESSION_DEAD) {
                return giveUp(plan, end);
            }
            last = outcome.text();
            if (end.isPast(System.nanoTime()) || outcome.status() == Transaction.Status.DENIED) {
                throw Transaction.unknown(subject, last);
            }
            requests.goesOn();
            requests.backOff(shield);
        }
    }

    /**
     * A request that is still under way does nothing once the sessions that it names have ended. There may be more of them than can be
     * ended in one call.
     */
    private @Nullable ExchangeResult giveUp(ExchangePlan plan, Deadline end) {
        plan.ended(pool.destroyAll(plan.mayTake(), end));
        if (!plan.mayTake().isEmpty()) {
            int left = plan.mayTake().size();
            throw Transaction.unknown(
                    subject, left + " of " + plan.takers().size() + " sessions could not be ended in time");
        }
        notDone(plan);
        return null;
    }

    /** Sends what belongs to a plan, what decides at the end; the indexes in the outcome are those of all its transactions. */
    private Transaction.Outcome send(ExchangePlan plan, Deadline end) {
        List<Transaction> transactions = new ArrayList<>(plan.preparations(self));
        if (!transactions.isEmpty() && plan.view().lockIndex() == 0) {
            // Entries that were written earlier are only as new as an existing coordination key makes them.
            Transaction create = new Transaction();
            LockBody empty = new LockBody(plan.view().limit(), Set.of(), "new", false);
            // Or a key would be left of a semaphore that was destroyed meanwhile.
            create.check(plan.view().key(KeyNames.LIMIT), plan.view().limitIndex());
            create.cas(plan.view().key(KeyNames.LOCK), 0, empty.toJson());
            Transaction.Outcome created = create.send(http, end);
            return created.status() == Transaction.Status.OK
                    ? new Transaction.Outcome(Transaction.Status.CONFLICT, "made the key first", Map.of())
                    : created;
        }
        transactions.add(plan.transaction(self));
        return Transaction.sendAll(transactions, http, end);
    }
}
