package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.spi.Hold;
import org.jspecify.annotations.Nullable;

/**
 * What is stored beside a held slot: {@code run:base:since:first}. It is written in the transaction that moves the slot.
 *
 * <p>An epoch is {@code base} plus a count per slot. The count rises by {@code run} in the transaction that moves the slot to
 * its holder, so epochs rise in the order of the grants. The base rises above everything that can have been granted whenever
 * the counts may have gone back: when the semaphore is created, and when a client finds another server than before.
 *
 * @param run how many epochs were reserved with the hold
 * @param base what its epochs are counted from
 * @param sinceMillis when it was taken, by the wall clock of the client that wrote this, in milliseconds since 1970
 * @param first the first epoch; -1 if the count of the slot says it
 */
record HoldNote(int run, long base, long sinceMillis, long first) {
    static final long BY_COUNT = -1;

    private static final int PARTS = 4;

    /** Returns null if the text has another form. */
    static @Nullable HoldNote parse(@Nullable String stored) {
        String[] parts = stored == null ? new String[0] : stored.split(":", -1);
        if (parts.length != PARTS) {
            return null;
        }
        try {
            int run = Integer.parseInt(parts[0]);
            long first = parts[3].isEmpty() ? BY_COUNT : Long.parseLong(parts[3]);
            return run < 1 ? null : new HoldNote(run, Long.parseLong(parts[1]), Long.parseLong(parts[2]), first);
        } catch (NumberFormatException e) {
            return null;
        }
    }

    /**
     * The first epoch of the hold.
     *
     * @param count the count of the slot after the hold was taken, or a later one: that is no epoch of anybody else either
     */
    long firstEpoch(long count) {
        return first != BY_COUNT ? first : Math.max(0, base + count - run + 1);
    }

    Hold hold(int slot, long count) {
        long epoch = firstEpoch(count);
        return new Hold(slot, epoch, epoch + run - 1);
    }

    @Override
    public String toString() {
        return run + ":" + base + ":" + sinceMillis + ":" + (first == BY_COUNT ? "" : first);
    }
}
