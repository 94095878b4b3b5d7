package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.spi.Hold;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Decides what the next write of an exchange does, from what is known; and keeps the session's place in the queue. No I/O.
 *
 * <p>The queue is one of clients. A slot that is given back goes to the first of them in the same transaction, if that client takes
 * handed slots; else the client gets a hint. A free slot belongs to the waiting clients too: a client takes it only if there are more
 * free slots than clients before it. A call with a single attempt does not wait and takes what is free. A client that got a hint
 * and does not come holds the others up for {@link #PATIENCE_NANOS}.
 */
final class Planner {
    static final long PATIENCE_NANOS = 20_000_000;

    /** A slot is not given to a client of which nobody has looked for so long whether it still waits. */
    static final long RECENT_NANOS = 10_000_000;

    /**
     * For so long after a grant a client of which no caller waits may take free slots although other clients wait. A slot that changes
     * its client lies idle for several round trips; a turn of a few short holds shares that cost. No client waits longer for it than
     * one turn of each client before it.
     */
    private static final long TURN_NANOS = 2_000_000;

    /** Instead of the score of a place: no time of a server is so early. */
    private static final long UNCERTAIN = 1;

    private final RedisLiveness liveness;
    private final Ledger ledger;

    /** The place of the session: since when it waits, by the server's clock in microseconds; 0 if it has none. */
    private long ticket;

    /** The score with which it stands in the queue; 0 if it does not, {@link #UNCERTAIN} if that is not known. */
    private long queuedAs;

    /** When that was known. */
    private long queuedNanos;

    /** The base of the epochs when it took that place. */
    private long queuedUpon;

    /** The name under which this session was given up for dead, as long as its remains have to be looked after. */
    private @Nullable String former;

    private long leftSinceNanos;

    /** The first in the queue then. */
    private String leftTo = "";

    /** When the turn of this session began. */
    private long turnNanos = System.nanoTime() - TURN_NANOS;

    Planner(RedisLiveness liveness) {
        this.liveness = liveness;
        this.ledger = liveness.ledger();
    }

    /**
     * Whether slots are to be taken together or not at all. To others a semaphore would look full while this session has some
     * of them and not yet all, so such a step needs a watch of the free slots. Not where so many are free that nobody asks which.
     */
    boolean wantsTogether(Attempt attempt, View view) {
        if (!attempt.isClaiming() || !view.allFree() || attempt.isCrowded()) {
            return false;
        }
        int within = view.free().size()
                + attempt.spare().size()
                + within(attempt.toGiveBack(), view.limit()).size();
        for (Attempt.Open open : attempt.open()) {
            if (open.permits() > 1 && open.permits() <= within) {
                return true;
            }
        }
        return false;
    }

    /** Whether all is granted and given back, so that nothing has to be planned any more. */
    boolean isDone(Attempt attempt) {
        return attempt.isDone() && queuedAs == 0 && former == null && !attempt.isLifeUncertain();
    }

    Step next(Attempt attempt, View view) {
        Control control = view.control();
        List<Hold> owed = List.copyOf(attempt.toGiveBack());
        List<Hold> usable = within(owed, view.limit());
        List<Attempt.Open> open = control == null ? List.of() : attempt.open();
        Room room = attempt.isClaiming() && control != null ? room(attempt, view, usable.size()) : Room.NONE;
        int wanted = 0;
        int wantedOnce = 0;
        boolean allWait = true;
        Attempt.Open firstUnserved = null;
        for (Attempt.Open want : open) {
            boolean fits = wanted + want.permits() <= (want.waits() ? room.forWaiters() : room.forAttempts());
            allWait &= want.waits();
            if (fits) {
                wanted += want.permits();
                wantedOnce += want.waits() ? 0 : want.permits();
            } else if (want.waits() && want.permits() <= view.limit() && firstUnserved == null) {
                firstUnserved = want;
            }
        }
        int missing = Math.max(0, wanted - attempt.spare().size());
        int retained = Math.min(Math.min(missing, usable.size()), Math.max(room.released(), wantedOnce));
        List<Hold> retains = usable.subList(0, retained);
        List<Hold> freed = new ArrayList<>(owed);
        if (!retains.isEmpty()) {
            freed.removeAll(new HashSet<>(retains));
        }
        List<Integer> claims = choose(missing - retained, attempt, view);
        boolean unserved = firstUnserved != null;
        List<Step.Hand> hands = hands(attempt, view, freed, unserved ? view.ahead(liveness.client()) : view.waiters());
        hands.forEach(hand -> freed.remove(hand.from()));
        List<String> hints = hints(attempt, view, freed, hands);

        boolean servesWaiters = retained + claims.size() > 0 && allWait;
        boolean waits = attempt.request().waiting();
        boolean movesBack = queuedAs > 0 && unserved && servesWaiters && claims.isEmpty();
        long score = 0;
        if (firstUnserved != null) {
            if (ticket == 0 || movesBack) {
                ticket = liveness.clock().micros();
            }
            boolean hintOnly = firstUnserved.permits() > 1 || !liveness.takesHandedSlots() || !ledger.isListening();
            score = ticket * 2 + (hintOnly ? 1 : 0);
        }
        boolean stays = waits && (unserved || !attempt.isForWaiters());
        boolean takes = retained + claims.size() > 0 || attempt.isLifeUncertain();
        boolean acts = waits || !owed.isEmpty() || takes;
        return new Step(
                freed,
                hands,
                retains,
                claims,
                attempt.request().epochs(),
                control == null ? 0 : control.base(),
                control == null ? null : former,
                control != null && !view.isMember() && (score > 0 || !claims.isEmpty()),
                view.isMember() && acts && liveness.isDueForRenewal(view, takes),
                score == queuedAs ? 0 : score,
                queuedAs > 0 && !stays && score == 0,
                hints);
    }

    private static List<Hold> within(Collection<Hold> holds, int limit) {
        List<Hold> within = new ArrayList<>(holds.size());
        for (Hold hold : holds) {
            if (hold.slot() <= limit) {
                within.add(hold);
            }
        }
        return within;
    }

    /**
     * How many slots this session may take, those that it has in hand included.
     *
     * @param forAttempts for callers that do not wait
     * @param forWaiters for those that do, less what the others take
     * @param released how many of those that it gives back it may take again for callers that wait
     */
    private record Room(int forAttempts, int forWaiters, int released) {
        static final Room NONE = new Room(0, 0, 0);
    }

    private Room room(Attempt attempt, View view, int released) {
        int free = view.free().size();
        List<View.Waiter> before = attempt.isForWaiters() ? view.ahead(liveness.client()) : List.of();
        int ahead = 0;
        for (View.Waiter waiter : before) {
            ahead += attempt.served().contains(waiter.client()) ? 0 : 1;
        }
        int kept = Math.max(0, released - ahead);
        boolean passesOver = released == 0 && queuedAs == 0 && isTurn();
        int left = passesOver ? 0 : Math.max(0, before.size() - released);
        // Where hundreds wait, all that look would try for what is free again and again, and most of them miss.
        boolean farBack = isFarBack(attempt, view);
        boolean leaves = left > 0 && free > 0 && !(farBack ? isQueueStuck(before) : isPatienceOver());
        attempt.leaveToOthers(leaves);
        if (!leaves && free == 0) {
            leftSinceNanos = 0;
        }
        // What looked free before may have been taken by those ahead: they are believed only after a look.
        int beyond = view.slotsRead() ? Math.max(0, free - left) : 0;
        int tried = leaves ? beyond : free;
        int spare = attempt.spare().size();
        return new Room(spare + released + free, spare + kept + (farBack && attempt.hasMissed() ? 0 : tried), kept);
    }

    private boolean isFarBack(Attempt attempt, View view) {
        return attempt.isForWaiters() && view.isFarBack(liveness.client());
    }

    private boolean isTurn() {
        return System.nanoTime() - turnNanos < TURN_NANOS;
    }

    /** In a queue that moves the first one is another one with each look of a client far back. */
    private boolean isQueueStuck(List<View.Waiter> before) {
        String first = before.get(0).client();
        if (!first.equals(leftTo)) {
            leftTo = first;
            leftSinceNanos = 0;
        }
        return isPatienceOver();
    }

    private boolean isPatienceOver() {
        long now = System.nanoTime();
        if (leftSinceNanos == 0) {
            leftSinceNanos = now;
        }
        return now - leftSinceNanos >= PATIENCE_NANOS;
    }

    /**
     * Chooses slots. Two clients that try the same one cost each other a round trip, so a client takes first the ones that it had
     * itself, then the lowest, and any after a miss, or where many wait that would all try the lowest.
     */
    private List<Integer> choose(int count, Attempt attempt, View view) {
        if (count <= 0) {
            return List.of();
        }
        List<Integer> free = view.free();
        if (attempt.hasMissed() || isFarBack(attempt, view)) {
            free = new ArrayList<>(free);
            Collections.shuffle(free, ThreadLocalRandom.current());
        }
        Set<Integer> chosen = new LinkedHashSet<>();
        for (Integer slot : ledger.recent()) {
            if (chosen.size() == count) {
                break;
            }
            choose(slot, free.contains(slot), chosen);
        }
        for (int i = 0; i < free.size() && chosen.size() < count; i++) {
            choose(free.get(i), true, chosen);
        }
        return List.copyOf(chosen);
    }

    private void choose(Integer slot, boolean free, Set<Integer> chosen) {
        if (free && ledger.holdOf(slot) == null) {
            chosen.add(slot);
        }
    }

    /** Hands what is freed to those that wait, as long as the first of them can be given one. */
    private List<Step.Hand> hands(Attempt attempt, View view, List<Hold> freed, List<View.Waiter> queue) {
        Control control = view.control();
        if (freed.isEmpty() || queue.isEmpty() || control == null || !mayHandOver(view)) {
            return List.of();
        }
        List<Step.Hand> hands = new ArrayList<>();
        List<Hold> usable = within(freed, view.limit());
        // What was counted from an earlier base may have been given back to a server that is gone: then others had the
        // next epochs.
        usable.removeIf(hold -> !ledger.mayHand(hold) || hold.epoch() < control.base());
        int run = attempt.request().epochs();
        int next = 0;
        for (View.Waiter waiter : queue) {
            if (waiter.client().equals(liveness.client()) || attempt.served().contains(waiter.client())) {
                continue;
            }
            if (waiter.hintOnly() || next == usable.size()) {
                break;
            }
            Hold from = usable.get(next++);
            long first = from.lastEpoch() + 1;
            hands.add(new Step.Hand(from, waiter.client(), new Hold(from.slot(), first, first + run - 1)));
        }
        return hands;
    }

    /** Not by what was known long ago, not while somebody seems to be dead, nor where a grant has to be confirmed to the client that gets it. */
    private boolean mayHandOver(View view) {
        return System.nanoTime() - view.queueNanos() < RECENT_NANOS
                && liveness.replicas().needed() == 0
                && view.firstEndMillis() > liveness.clock().micros() / 1_000;
    }

    /** The first in the queue hear of what is freed and goes to nobody, also if it may not be enough for them. */
    private List<String> hints(Attempt attempt, View view, List<Hold> freed, List<Step.Hand> hands) {
        List<String> others = view.others(liveness.client());
        if (others.isEmpty()) {
            return List.of();
        }
        Set<String> served = new HashSet<>(attempt.served());
        hands.forEach(hand -> served.add(hand.client()));
        return others.stream()
                .filter(waiter -> !served.contains(waiter))
                .limit(within(freed, view.limit()).size())
                .toList();
    }

    /**
     * What has to be read after a step. Little if it serves everybody and nobody else seems to be near: should somebody be, then
     * the slot is taken already, which the transaction says.
     */
    View.Depth depth(Attempt attempt, View view, Step step) {
        boolean alone = !othersWait(view) && !attempt.hasMissed();
        boolean known = view.control() != null && !liveness.isOutdated(view.sentNanos());
        if (!known || step.changesLife()) {
            return View.Depth.ALL;
        }
        if (!(alone || step.claims().isEmpty()) || step.ticket() > 0 || attempt.wanted() > step.takes()) {
            return view.isRecent(liveness.clock()) ? View.Depth.SLOTS : View.Depth.ALL;
        }
        return alone && step.releases().isEmpty() && queuedAs == 0 ? View.Depth.CONTROL : View.Depth.QUEUE;
    }

    /** The step was done. */
    void committed(Step step) {
        if (step.former() != null) {
            former = null;
        }
        if (step.ticket() > 0) {
            queuedAs = step.ticket();
            queuedNanos = System.nanoTime();
            queuedUpon = step.base();
        } else if (step.leaveQueue()) {
            // Or a later wait would stand before clients that have come meanwhile.
            forgetPlace();
        }
    }

    /** A caller that waits got something: if the session waits for more, it goes to the end of the queue. */
    void granted(@Nullable Step step) {
        if (!isTurn()) {
            turnNanos = System.nanoTime();
        }
        if (step == null || step.ticket() == 0) {
            ticket = 0;
        }
    }

    /**
     * Somebody took the session out of the queue and gave it a slot.
     *
     * @param nanos when the first message of that came. A place that was taken since is another one
     */
    void wasServed(long nanos) {
        queuedAs = queuedAs != 0 && queuedNanos - nanos > 0 ? UNCERTAIN : 0;
    }

    /** The exchange is over. */
    void finished(Attempt attempt) {
        boolean concernsWaiters = attempt.isForWaiters() || !attempt.request().waiting();
        if (concernsWaiters && !attempt.isLeftToOthers()) {
            leftSinceNanos = 0;
        }
    }

    boolean isQueued() {
        return queuedAs > 0;
    }

    /**
     * Notices if the queue was removed, as with a semaphore that is destroyed and created again. Where more wait than are read, the
     * base says so: it rises then, and when another server takes over.
     */
    boolean isPlaceLost(View view) {
        Control control = view.control();
        boolean isSeen = view.ahead(liveness.client()).size() < view.waiters().size();
        return queuedAs > 0
                && !isSeen
                && (view.waiters().size() < View.WAITERS || (control != null && control.base() != queuedUpon));
    }

    /** The session is not in the queue any more. */
    void forgetPlace() {
        queuedAs = 0;
        ticket = 0;
    }

    /** The session is not in the queue, and takes its place again if it goes on waiting. */
    void losePlace() {
        queuedAs = 0;
    }

    /** Perhaps the session is not in the queue. It takes its place again if it goes on waiting, or else leaves it. */
    void doubtPlace() {
        queuedAs = UNCERTAIN;
    }

    /** The session goes on under another name. */
    void buried(String name) {
        former = name;
        forgetPlace();
    }

    boolean othersWait(View view) {
        return !view.others(liveness.client()).isEmpty();
    }
}
