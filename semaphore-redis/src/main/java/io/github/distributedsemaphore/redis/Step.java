package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.redis.RedisLayout.HoldNote;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.spi.Hold;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one write of an exchange does: a transaction under the watch, or, if it only {@linkplain #isBare gives back}, bare
 * commands.
 *
 * @param releases holds whose slots become free
 * @param hands holds that are handed over to clients that wait
 * @param retains holds whose slots this session takes again, with new epochs
 * @param claims slots that it tries to take; each may turn out to be taken
 * @param run how many epochs are reserved with each slot that changes its holder
 * @param base what the epochs are counted from
 * @param former the name under which this session was given up for dead; null if it was not
 * @param join whether the session begins to live
 * @param extend whether it renews its life
 * @param ticket the score with which to stand in the queue; 0 to leave the queue as it is
 * @param leaveQueue whether it leaves the queue
 * @param hints clients that hear that something may be free
 */
record Step(
        List<Hold> releases,
        List<Hand> hands,
        List<Hold> retains,
        List<Integer> claims,
        int run,
        long base,
        @Nullable String former,
        boolean join,
        boolean extend,
        long ticket,
        boolean leaveQueue,
        List<String> hints) {
    /** Does nothing. */
    static final Step NOTHING =
            new Step(List.of(), List.of(), List.of(), List.of(), 1, 0, null, false, false, 0, false, List.of());

    /** A slot for a client that waits. Its epochs follow those of the hold that it was. */
    record Hand(Hold from, String client, Hold given) {}

    boolean isEmpty() {
        return releases.isEmpty() && isBare();
    }

    /**
     * Whether it does nothing but give back. That needs no watch: SMOVE moves a slot only if it is in this client's set, and the
     * set of a client that was given up for dead is empty.
     */
    boolean isBare() {
        return hands.isEmpty()
                && retains.isEmpty()
                && claims.isEmpty()
                && former == null
                && !join
                && !extend
                && ticket == 0
                && !leaveQueue;
    }

    /** How many slots it may bring. */
    int takes() {
        return retains.size() + claims.size();
    }

    /** Whether it changes the session's life. */
    boolean changesLife() {
        return former != null || join || extend;
    }

    /**
     * The indexes of the commands whose replies say what was done.
     *
     * @param retained the command that says which of the retained slots were there; -1 if there is none
     */
    record Sent(
            List<Integer> released, List<Integer> handed, int retained, List<Integer> taken, List<Integer> counts) {}

    /**
     * A step that is to be sent, with what is needed to understand its replies.
     *
     * @param reading what is read after it, in the same write
     */
    record Prepared(CommandBatch batch, Step step, Sent sent, View.Reading reading) {}

    /** Adds the commands. */
    Sent addTo(CommandBatch batch, RedisLayout layout, RedisLiveness liveness) {
        addLife(batch, layout, liveness);
        String client = liveness.client();
        String mine = layout.heldBy(client);
        List<Integer> released = new ArrayList<>(releases.size());
        releases.forEach(
                hold -> released.add(batch.add(RedisVerb.SMOVE, mine, layout.free(), Integer.toString(hold.slot()))));
        List<Integer> handed = new ArrayList<>(hands.size());
        hands.forEach(hand -> handed.add(addHand(batch, layout, mine, hand)));
        int retained = retains.isEmpty() ? -1 : batch.add(RedisVerb.SMISMEMBER, mine, slots(retains));
        List<Integer> taken = new ArrayList<>(claims.size());
        List<Integer> counts = new ArrayList<>(takes());
        retains.forEach(hold -> counts.add(addCount(batch, layout, hold.slot())));
        for (int slot : claims) {
            taken.add(batch.add(RedisVerb.SMOVE, layout.free(), mine, Integer.toString(slot)));
            counts.add(addCount(batch, layout, slot));
        }
        addNotes(batch, layout.notesOf(client));
        if (ticket > 0) {
            batch.add(RedisVerb.ZADD, layout.waiters(), Long.toString(ticket), client);
        } else if (leaveQueue) {
            batch.add(RedisVerb.ZREM, layout.waiters(), client);
        }
        hints.forEach(waiter -> batch.add(RedisVerb.PUBLISH, layout.channelOf(waiter), Ledger.Offer.HINT));
        return new Sent(released, handed, retained, taken, counts);
    }

    private void addLife(CommandBatch batch, RedisLayout layout, RedisLiveness liveness) {
        if (former != null) {
            // A burial has done so already, and touched the control, unless the deadlines themselves were removed.
            RedisPruning.remove(batch, layout, List.of(former), true);
        }
        if (join) {
            liveness.join(batch);
        } else if (extend) {
            liveness.extend(batch, base > 0);
        }
    }

    private int addHand(CommandBatch batch, RedisLayout layout, String mine, Hand hand) {
        String slot = Integer.toString(hand.from().slot());
        HoldNote note =
                new HoldNote(run, base, System.currentTimeMillis(), hand.given().epoch());
        int moved = batch.add(RedisVerb.SMOVE, mine, layout.heldBy(hand.client()), slot);
        addCount(batch, layout, hand.from().slot());
        batch.add(RedisVerb.HSET, layout.notesOf(hand.client()), slot, note.toString());
        batch.add(RedisVerb.ZREM, layout.waiters(), hand.client());
        batch.add(
                RedisVerb.PUBLISH,
                layout.channelOf(hand.client()),
                new Ledger.Offer(hand.client(), hand.given()).toString());
        return moved;
    }

    private int addCount(CommandBatch batch, RedisLayout layout, int slot) {
        return batch.add(RedisVerb.HINCRBY, layout.epochs(), Integer.toString(slot), Integer.toString(run));
    }

    private void addNotes(CommandBatch batch, String notes) {
        if (takes() == 0) {
            return;
        }
        String note = note().toString();
        List<Object> fields = new ArrayList<>(2 * takes());
        retains.forEach(hold -> fields.addAll(List.of(hold.slot(), note)));
        claims.forEach(slot -> fields.addAll(List.of(slot, note)));
        batch.add(RedisVerb.HSET, notes, fields);
    }

    /** What is stored beside a slot that this step takes. */
    HoldNote note() {
        return new HoldNote(run, base, System.currentTimeMillis(), HoldNote.BY_COUNT);
    }

    private static List<Integer> slots(List<Hold> holds) {
        return holds.stream().map(Hold::slot).toList();
    }
}
