package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.spi.Hold;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Decides what the next transaction of an exchange does, from what is known; and keeps the session's place in the queue. No
 * I/O.
 *
 * <p>The queue is one of clients. A free slot belongs to those who wait: a client that goes on waiting takes one only if
 * there are more of them than clients before it. A call with a single attempt does not wait and takes what is free. Who was
 * called and does not come, for it has died, holds the others up for {@link #PATIENCE_NANOS}.
 */
final class StepPlan {
    static final long PATIENCE_NANOS = 20_000_000;

    private final RedisLayout layout;
    private final RedisLiveness liveness;
    private final ServerClock clock;
    private final SlotChoice choice;

    /** The place of the session: since when it waits, by the server's clock in microseconds; 0 if it has none. */
    private long ticket;

    /** Whether the session is in the queue. */
    private boolean queued;

    private long leftSinceNanos;
    private long holdNumber;

    StepPlan(RedisLayout layout, RedisLiveness liveness, ServerClock clock, SlotChoice choice) {
        this.layout = layout;
        this.liveness = liveness;
        this.clock = clock;
        this.choice = choice;
    }

    /**
     * Whether slots are to be taken together or not at all. To others a semaphore would look full while this session has some
     * of them and not yet all, so such a step needs a watch of the holds. Not where so many are free that nobody asks which.
     */
    boolean wantsTogether(Attempt attempt, ArmedState state) {
        return attempt.isClaiming()
                && state.usedSlots() != null
                && !attempt.isCrowded()
                && attempt.wantsSeveral(Math.max(state.free(), choice.numberTold())
                        + attempt.spare().size()
                        + releases(attempt, state).size());
    }

    Step next(Attempt attempt, ArmedState state) {
        List<Integer> releases = releases(attempt, state);
        List<Attempt.Open> open = state.control() == null ? List.of() : attempt.open();
        Set<Integer> own = own(releases);
        Set<Integer> told = choice.told(state, attempt.isFresh(state), own);
        Room room = attempt.isClaiming() ? room(attempt, state, releases, told.size()) : Room.NONE;
        int wanted = 0;
        int unserved = 0;
        for (Attempt.Open want : open) {
            boolean fits = wanted + want.permits() <= (want.waits() ? room.forWaiters() : room.forAttempts());
            wanted += fits ? want.permits() : 0;
            unserved += fits || !want.waits() || want.permits() > state.limit() ? 0 : 1;
        }
        int missing = Math.max(0, wanted - attempt.spare().size());
        List<Step.Claim> claims = claims(
                attempt,
                state,
                missing == 0 ? Set.of() : choice.choose(missing, state, told, attempt.hasMissed(), releases, own));
        boolean sure =
                claims.stream().allMatch(claim -> releases.contains(claim.slot()) || told.contains(claim.slot()));
        boolean waits = attempt.request().waiting();
        boolean movesBack = queued && unserved > 0 && sure && servesWaiters(claims, open);
        boolean enqueue = unserved > 0 && (!queued || ticket == 0 || movesBack);
        if (enqueue && ticket == 0) {
            ticket = clock.micros();
        }
        boolean stays = waits && (unserved > 0 || !attempt.isForWaiters());
        boolean acts = waits || !releases.isEmpty() || !claims.isEmpty();
        return new Step(
                releases,
                claims,
                sure,
                !state.isMember() && (enqueue || !claims.isEmpty()),
                state.isMember() && acts && liveness.isDueForRenewal(state.deadlineMillis()),
                movesBack ? clock.micros() : enqueue ? ticket : 0,
                queued && !stays && !enqueue,
                wakes(attempt, state, releases, claims));
    }

    private static List<Integer> releases(Attempt attempt, ArmedState state) {
        return state.isMember() ? attempt.toGiveBack().stream().map(Hold::slot).toList() : List.of();
    }

    /**
     * How many slots this session may take, those that it has in hand included.
     *
     * @param forAttempts for callers that do not wait
     * @param forWaiters for those that do, less what the others take
     */
    private record Room(int forAttempts, int forWaiters) {
        static final Room NONE = new Room(0, 0);
    }

    /** Whether the transaction gives somebody a slot who waits; then the session goes to the end of the queue with it. */
    private static boolean servesWaiters(List<Step.Claim> claims, List<Attempt.Open> open) {
        return !claims.isEmpty() && open.stream().allMatch(Attempt.Open::waits);
    }

    /** Slots that the session has, without those that become free. */
    private Set<Integer> own(List<Integer> releases) {
        Set<Integer> own = new HashSet<>();
        liveness.holds().keySet().forEach(hold -> own.add(hold.slot()));
        releases.forEach(own::remove);
        return own;
    }

    private Room room(Attempt attempt, ArmedState state, List<Integer> releases, int told) {
        int free = Math.max(state.free(), told)
                + (int) releases.stream().filter(slot -> slot <= state.limit()).count();
        int ahead = attempt.isForWaiters() ? state.ahead(liveness.client()) : 0;
        int spare = attempt.spare().size();
        // Who was told of a slot is the one that it was left to.
        boolean leaves = ahead > 0 && free > told && !isPatienceOver();
        attempt.leaveToOthers(leaves);
        if (!leaves && free == 0) {
            leftSinceNanos = 0;
        }
        // What looked free before may have been taken by those ahead: they are believed only after a look.
        int beyond = state.complete() ? free - ahead : 0;
        return new Room(spare + free, spare + (leaves ? Math.max(told, beyond) : free));
    }

    private boolean isPatienceOver() {
        long now = System.nanoTime();
        if (leftSinceNanos == 0) {
            leftSinceNanos = now;
        }
        return now - leftSinceNanos >= PATIENCE_NANOS;
    }

    private List<Step.Claim> claims(Attempt attempt, ArmedState state, Set<Integer> slots) {
        Control control = state.control();
        if (control == null) {
            return List.of();
        }
        List<Step.Claim> claims = new ArrayList<>(slots.size());
        long now = System.currentTimeMillis();
        for (int slot : slots) {
            claims.add(new Step.Claim(
                    slot,
                    new HoldValue(
                            liveness.client(), ++holdNumber, attempt.request().epochs(), control.base(), now)));
        }
        return claims;
    }

    private Map<String, Integer> wakes(
            Attempt attempt, ArmedState state, List<Integer> releases, List<Step.Claim> claims) {
        Deque<Integer> freed = new ArrayDeque<>(releases);
        claims.forEach(claim -> freed.remove(claim.slot()));
        freed.removeIf(slot -> slot > state.limit());
        Map<String, Integer> wakes = new LinkedHashMap<>();
        for (String waiter : state.waiters()) {
            if (freed.isEmpty()) {
                break;
            }
            if (!waiter.equals(liveness.client()) && attempt.woken().add(waiter)) {
                wakes.put(waiter, freed.remove());
            }
        }
        return wakes;
    }

    /**
     * What has to be read after a transaction. Little if it serves everybody and nobody else seems to be near: should somebody
     * be, then the slot is taken already, which the transaction says.
     */
    ArmedState.Depth depth(Attempt attempt, ArmedState state, Step step) {
        boolean alone = !othersWait(state) && !attempt.hasMissed();
        boolean sure = step.sure() || alone;
        boolean known = state.control() != null && !state.areManyUsed() && !liveness.isOutdated(state.sentNanos());
        if (!sure
                || !known
                || step.changesStanding()
                || !attempt.isServedBy(step.claims().size())) {
            return ArmedState.Depth.ALL;
        }
        boolean offQueue = step.releases().isEmpty() && alone && !queued;
        return offQueue ? ArmedState.Depth.CONTROL : ArmedState.Depth.QUEUE;
    }

    /** The transaction was done. */
    void committed(Step step) {
        if (step.ticket() > 0) {
            // If it moved back for a slot that it did not get, it takes its old place again.
            queued = step.ticket() == ticket;
        } else if (step.leaveQueue()) {
            queued = false;
        }
    }

    /** The session got something: if it waits for more, it goes to the end of the queue. */
    void granted(Step step) {
        queued |= step.ticket() > 0;
        ticket = step.ticket();
    }

    /** The exchange is over. */
    void finished(Attempt attempt) {
        boolean concernsWaiters = attempt.isForWaiters() || !attempt.request().waiting();
        if (concernsWaiters && !attempt.isLeftToOthers()) {
            leftSinceNanos = 0;
        }
    }

    /** The number of the last hold that was planned. */
    long lastNumber() {
        return holdNumber;
    }

    boolean isQueued() {
        return queued;
    }

    /** Notices if the queue was removed, as with a semaphore that is destroyed and made anew. */
    boolean isPlaceLost(ArmedState state) {
        return queued
                && state.waiters().size() < ArmedState.WAITERS
                && !state.waiters().contains(liveness.client());
    }

    /** The session is not in the queue any more. */
    void forgetPlace() {
        queued = false;
        ticket = 0;
        choice.forgetTold();
    }

    /**
     * Tells the first in the queue of the slots that became free, unless they were told with the transaction. Whoever finds other
     * slots free leaves them to those who were told of them: told by several, two would try the same slot.
     */
    CommandBatch wakeOthers(Attempt attempt, ArmedState state) {
        CommandBatch batch = new CommandBatch();
        int free = state.complete() ? Math.min(state.free(), attempt.freed()) : attempt.freed();
        for (String waiter : state.waiters()) {
            if (free <= 0) {
                break;
            }
            if (!waiter.equals(liveness.client())) {
                free--;
                if (attempt.woken().add(waiter)) {
                    tell(batch, waiter, attempt.nextUntold());
                }
            }
        }
        return batch;
    }

    /** Tells the first in the queue of the slots that this session was told of. */
    CommandBatch passOnTold(ArmedState state) {
        CommandBatch batch = new CommandBatch();
        Deque<Integer> slots = new ArrayDeque<>(toldInVain());
        for (String waiter : state.waiters()) {
            if (!slots.isEmpty() && !waiter.equals(liveness.client())) {
                tell(batch, waiter, slots.remove());
            }
        }
        return batch;
    }

    /** The slots that this session was told of and has not taken; forgets them. */
    List<Integer> toldInVain() {
        Set<Integer> slots = new LinkedHashSet<>(choice.takeTold());
        slots.removeAll(own(List.of()));
        return List.copyOf(slots);
    }

    private void tell(CommandBatch batch, String waiter, int slot) {
        batch.add(RedisVerb.PUBLISH, layout.channelOf(waiter), Integer.toString(slot));
    }

    boolean othersWait(ArmedState state) {
        return state.waiters().stream().anyMatch(waiter -> !waiter.equals(liveness.client()));
    }
}
