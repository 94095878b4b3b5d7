package io.github.distributedsemaphore.memory;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * One name as the server stores it: pure data, guarded by the server. It stays after a destruction, because holders may
 * keep their slots and epochs must go on rising. Each small step can be overridden by an implementation that is wrong on
 * purpose.
 */
public class MemorySemaphore {
    /** One held slot. */
    public record Taken(ServerSession session, Hold hold, Instant since) {}

    /** The number of slots; 0 if there is no such semaphore. */
    protected int limit;

    protected final NavigableMap<Integer, Taken> taken = new TreeMap<>();
    protected final Map<Integer, Long> nextEpochs = new HashMap<>();

    /** Shows who holds what. */
    public final List<Taken> held() {
        return List.copyOf(taken.values());
    }

    /** Forgets holds, as a replica does that never heard of them. */
    public final void forgetAllBut(Collection<Taken> known) {
        taken.values().retainAll(known);
    }

    /** Somebody with access to the stored state makes the epochs of all slots go on from a number. */
    final void plantEpoch(long epoch) {
        for (int slot = 1; slot <= limit; slot++) {
            nextEpochs.put(slot, epoch);
        }
    }

    /** Somebody with access to the stored state adds slots beyond the limit. */
    final void plantSlots(int more) {
        for (int slot = limit + 1; slot <= limit + more; slot++) {
            nextEpochs.put(slot, 1L);
        }
    }

    /** Serves one caller: all of its permits or none. */
    protected Answer grant(ServerSession session, int permits, int epochs) {
        if (limit == 0) {
            return Answer.MISSING;
        }
        if (permits > limit) {
            return new Answer.ExceedsLimit(limit);
        }
        List<Integer> free = freeSlots(permits);
        if (free.size() < permits) {
            return Answer.FULL;
        }
        List<Hold> holds = new ArrayList<>();
        for (int slot : free) {
            holds.add(take(session, slot, epochs));
        }
        return new Answer.Granted(holds);
    }

    /** Returns the lowest free slots. */
    protected List<Integer> freeSlots(int atMost) {
        List<Integer> free = new ArrayList<>();
        for (int slot = 1; slot <= limit && free.size() < atMost; slot++) {
            if (!taken.containsKey(slot)) {
                free.add(slot);
            }
        }
        return free;
    }

    /** Gives a slot to a session, under epochs that this slot never had. */
    protected Hold take(ServerSession session, int slot, int epochs) {
        long first = nextEpochs.getOrDefault(slot, 1L);
        nextEpochs.put(slot, first + epochs);
        Hold hold = new Hold(slot, first, first + epochs - 1);
        taken.put(slot, new Taken(session, hold, Instant.now()));
        return hold;
    }

    /** Frees a hold if this very one is held. */
    protected boolean giveBack(ServerSession session, Hold hold) {
        return isHeld(session, hold) && taken.remove(hold.slot()) != null;
    }

    /** Frees all that a session holds. */
    protected boolean giveBackAll(ServerSession session) {
        return taken.values().removeIf(held -> held.session() == session);
    }

    /** Tells whether this very hold is held. */
    protected boolean isHeld(ServerSession session, Hold hold) {
        Taken held = taken.get(hold.slot());
        return held != null && held.session() == session && held.hold().equals(hold);
    }

    /** Tells how a hold stands. */
    protected HoldState state(ServerSession session, Hold hold) {
        if (!isHeld(session, hold)) {
            return HoldState.LOST;
        }
        return isRetired(hold.slot()) ? HoldState.RETIRED : HoldState.HELD;
    }

    /** Tells whether a slot was removed. */
    protected boolean isRetired(int slot) {
        return slot > limit;
    }

    /** Counts the held slots that were removed. */
    protected int retiredHolders() {
        return taken.tailMap(limit, false).size();
    }

    /** Returns the first end of a lease of anybody but this session. */
    protected Deadline firstLeaseEnd(ServerSession except) {
        return taken.values().stream()
                .map(Taken::session)
                .filter(session -> session != except)
                .map(session -> session.leaseEnd)
                .reduce(Deadline.NEVER, Deadline::earlier);
    }

    /** Shows the limit and the held slots. */
    protected SemaphoreDescription describe(String name) {
        List<Holder> holders = taken.values().stream().map(this::row).toList();
        int held = taken.headMap(limit, true).size();
        return new SemaphoreDescription(name, limit, limit - held, holders);
    }

    private Holder row(Taken held) {
        int slot = held.hold().slot();
        HolderState state = isRetired(slot) ? HolderState.RETIRED : HolderState.HELD;
        return new Holder(
                slot,
                held.hold().epoch(),
                held.session().holder.host(),
                held.session().holder.pid(),
                held.session().holder.label(),
                held.since(),
                state);
    }
}
