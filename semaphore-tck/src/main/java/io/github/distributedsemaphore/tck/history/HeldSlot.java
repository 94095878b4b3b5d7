package io.github.distributedsemaphore.tck.history;

/**
 * A permit in a history.
 *
 * @param hold its number, unique in the history
 * @param slot its slot, from 1
 * @param epoch its epoch; -1 without fencing
 */
public record HeldSlot(long hold, int slot, long epoch) {
    /** What stands for an epoch where there is none. */
    public static final long NO_EPOCH = -1;

    @Override
    public String toString() {
        return hold + ":" + slot + "@" + epoch;
    }

    static HeldSlot parse(String text) {
        String[] parts = text.split("[:@]", 3);
        return new HeldSlot(Long.parseLong(parts[0]), Integer.parseInt(parts[1]), Long.parseLong(parts[2]));
    }
}
