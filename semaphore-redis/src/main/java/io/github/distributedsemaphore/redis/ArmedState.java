package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.IncompatibleStateException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A semaphore as it was when its control key began to be watched. Until a transaction under that watch succeeds or fails, the
 * control and who has been given up for dead are as they stand here; the rest is a hint, and may be from an earlier look.
 *
 * @param control null if there is no semaphore
 * @param deadlineMillis until when this client lives, by the server's clock; 0 if it does not
 * @param used how many slots are held, removed ones included
 * @param usedSlots which; null if that was not read
 * @param firstEndMillis the earliest deadline of another client; {@link Long#MAX_VALUE} if there is none
 * @param waiters the first clients in the queue
 * @param serverMicros the server's time
 * @param holdsWatched whether the used slots are as they stand here too, until a transaction under this watch succeeds or fails
 * @param complete whether all of it was read when the watch began
 * @param sentNanos the local instant before all this was asked together, by {@code System.nanoTime}
 */
record ArmedState(
        @Nullable Control control,
        long deadlineMillis,
        int used,
        @Nullable Set<Integer> usedSlots,
        long firstEndMillis,
        List<String> waiters,
        long serverMicros,
        boolean holdsWatched,
        boolean complete,
        long sentNanos) {

    /** How much is read when a watch begins; each includes what stands before it. */
    enum Depth {
        /** What the watch is about. As long as that has not changed since, nobody was given up for dead either. */
        CONTROL,
        QUEUE,
        ALL,
        /** The holds are watched too. */
        HOLDS
    }

    /** Up to so many slots it costs nothing to ask which are used. */
    private static final int FEW_SLOTS = 64;

    /** So many waiters are looked at, and at most so many woken at a time. */
    static final int WAITERS = 16;

    boolean isMember() {
        return deadlineMillis > 0;
    }

    /** The limit; zero if there is no semaphore. */
    int limit() {
        return control == null ? 0 : control.limit();
    }

    /** How many slots are free; 0 is sure only if the used slots are known. */
    int free() {
        if (usedSlots == null) {
            return Math.max(0, limit() - used);
        }
        return limit()
                - (int) usedSlots.stream().filter(slot -> slot <= limit()).count();
    }

    /** What is known once a transaction was done, without a look; a slot that it could not have is used by somebody. */
    ArmedState after(Step step) {
        Set<Integer> slots = null;
        if (usedSlots != null && limit() <= FEW_SLOTS) {
            slots = new HashSet<>(usedSlots);
            step.releases().forEach(slots::remove);
            for (Step.Claim claim : step.claims()) {
                slots.add(claim.slot());
            }
        }
        int count = slots != null
                ? slots.size()
                : Math.max(0, used - step.releases().size() + step.claims().size());
        return new ArmedState(
                control, deadlineMillis, count, slots, firstEndMillis, waiters, serverMicros, false, false, sentNanos);
    }

    ArmedState with(List<String> queue) {
        return new ArmedState(
                control,
                deadlineMillis,
                used,
                usedSlots,
                firstEndMillis,
                queue,
                serverMicros,
                holdsWatched,
                complete,
                sentNanos);
    }

    boolean isFree(int slot) {
        return slot <= limit() && (usedSlots == null || !usedSlots.contains(slot));
    }

    /**
     * With few slots, or when few may be free, which ones are used is worth asking. With many it costs as much as they are, and a
     * guess that misses brings the answer with it: the slot that this session had last is mostly free, and so is any other as
     * long as a quarter of them are.
     */
    boolean areSlotsWorthAsking() {
        return limit() <= FEW_SLOTS || areManyUsed();
    }

    /** Whether slots have to be looked for. */
    boolean areManyUsed() {
        return limit() > FEW_SLOTS && used / 3 > limit() / 4;
    }

    /** How many clients are in the queue before this one; all of them if it is not there. */
    int ahead(String client) {
        int index = waiters.indexOf(client);
        return index < 0 ? waiters.size() : index;
    }

    static Set<Integer> slots(RedisLayout layout, List<Reply> fields) {
        Set<Integer> slots = new HashSet<>(fields.size() * 2);
        for (Reply field : fields) {
            slots.add(slot(layout, field.text()));
        }
        return slots;
    }

    static int slot(RedisLayout layout, String field) {
        long slot = Numbers.parse(field);
        if (slot < 1 || slot > Integer.MAX_VALUE) {
            throw new IncompatibleStateException(
                    layout.what() + ": the Redis hash " + layout.holds() + " has a field '" + field
                            + "', which is no slot; remove the field",
                    null);
        }
        return (int) slot;
    }

    static long micros(Reply time) {
        return time.list().get(0).number() * 1_000_000 + time.list().get(1).number();
    }
}
