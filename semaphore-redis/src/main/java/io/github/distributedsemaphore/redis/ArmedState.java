package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.IncompatibleStateException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A semaphore as it was when its control key began to be watched. Until a transaction under that watch succeeds or fails, the
 * control and who has been given up for dead are as they stand here; the rest is a hint.
 *
 * @param control null if there is no semaphore
 * @param deadlineMillis until when this client lives, by the server's clock; 0 if it does not
 * @param used how many slots are held, removed ones included
 * @param usedSlots which; null if that was not read
 * @param firstEndMillis the earliest deadline of another client; {@link Long#MAX_VALUE} if there is none
 * @param waiters the first clients in the queue
 * @param serverMicros the server's time
 * @param holdsWatched whether the used slots are as they stand here too, until a transaction under this watch succeeds or fails
 * @param sentNanos the local instant before all this was asked, by {@code System.nanoTime}
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
        long sentNanos) {

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

    boolean isFree(int slot) {
        return slot <= limit() && (usedSlots == null || !usedSlots.contains(slot));
    }

    /** How many clients are in the queue before this one; all of them if it is not there. */
    int ahead(String client) {
        int index = waiters.indexOf(client);
        return index < 0 ? waiters.size() : index;
    }

    /** The commands that begin a watch and read the state under it. */
    static final class Request {
        private final RedisLayout layout;
        private final String client;
        private final CommandBatch batch;
        private final boolean slots;
        private final boolean watchHolds;
        private final int control;
        private final int life;
        private final int used;
        private final int ends;
        private final int queue;
        private final int time;

        /**
         * Adds the commands to a batch.
         *
         * @param slots whether to ask which slots are used, or only how many
         */
        Request(CommandBatch batch, RedisLayout layout, String client, boolean slots) {
            this(batch, layout, client, slots, false);
        }

        private Request(CommandBatch batch, RedisLayout layout, String client, boolean slots, boolean watchHolds) {
            this.layout = layout;
            this.client = client;
            this.batch = batch;
            this.slots = slots;
            this.watchHolds = watchHolds;
            batch.add(RedisVerb.WATCH, layout.control());
            if (watchHolds) {
                batch.add(RedisVerb.WATCH, layout.holds());
            }
            control = Control.read(batch, layout);
            life = batch.add(RedisVerb.ZSCORE, layout.lives(), client);
            used = batch.add(slots ? RedisVerb.HKEYS : RedisVerb.HLEN, layout.holds());
            ends = batch.add(RedisVerb.ZRANGE, layout.lives(), "0", "1", "WITHSCORES");
            queue = batch.add(RedisVerb.ZRANGE, layout.waiters(), "0", Integer.toString(WAITERS - 1));
            time = batch.add(RedisVerb.TIME);
        }

        /** The same, and the holds are watched too. */
        static Request ofHolds(RedisLayout layout, String client) {
            return new Request(new CommandBatch(), layout, client, true, true);
        }

        CommandBatch batch() {
            return batch;
        }

        ArmedState parse(Replies replies, long sentNanos) {
            Reply score = replies.get(life);
            Reply slotReply = replies.get(used);
            Set<Integer> usedSlots = slots ? slots(layout, slotReply.list()) : null;
            return new ArmedState(
                    Control.parse(layout, replies.get(control)),
                    score.isNil() ? 0 : score.score(),
                    usedSlots == null ? (int) slotReply.number() : usedSlots.size(),
                    usedSlots,
                    firstEnd(replies.get(ends).list()),
                    replies.get(queue).list().stream().map(Reply::text).toList(),
                    micros(replies.get(time)),
                    watchHolds,
                    sentNanos);
        }

        private long firstEnd(List<Reply> clientsAndScores) {
            for (int i = 0; i + 1 < clientsAndScores.size(); i += 2) {
                if (!clientsAndScores.get(i).text().equals(client)) {
                    return clientsAndScores.get(i + 1).score();
                }
            }
            return Long.MAX_VALUE;
        }
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
