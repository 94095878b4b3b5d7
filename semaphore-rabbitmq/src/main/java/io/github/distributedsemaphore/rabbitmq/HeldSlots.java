package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.spi.Hold;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Which slots a session holds. The broker lets a connection declare its own exclusive queue again and again, so that only
 * this keeps two permits of one session out of one slot. Thread-safe.
 */
final class HeldSlots {
    private final ConcurrentMap<Integer, Entry> entries = new ConcurrentHashMap<>();

    /**
     * A held slot.
     *
     * @param hold the hold
     * @param since when it was taken, by the wall clock, for people
     */
    record Entry(Hold hold, long since) {}

    void add(Hold hold) {
        entries.put(hold.slot(), new Entry(hold, System.currentTimeMillis()));
    }

    boolean contains(Hold hold) {
        Entry entry = entries.get(hold.slot());
        return entry != null && entry.hold.equals(hold);
    }

    boolean contains(int slot) {
        return entries.containsKey(slot);
    }

    void remove(Hold hold) {
        entries.computeIfPresent(hold.slot(), (slot, entry) -> entry.hold.equals(hold) ? null : entry);
    }

    void removeAll(Collection<Hold> holds) {
        holds.forEach(this::remove);
    }

    Set<Integer> slots() {
        return Set.copyOf(entries.keySet());
    }

    List<Entry> entries() {
        return List.copyOf(entries.values());
    }
}
