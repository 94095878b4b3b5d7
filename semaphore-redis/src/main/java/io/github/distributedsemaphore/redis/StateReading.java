package io.github.distributedsemaphore.redis;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The commands that begin a watch and read the state under it. */
final class StateReading {
    private static final int NOT_ASKED = -1;

    private final RedisLayout layout;
    private final String client;
    private final CommandBatch batch;
    private final boolean slots;
    private final boolean watchHolds;
    private final int control;
    private int queue = NOT_ASKED;
    private int life = NOT_ASKED;
    private int used = NOT_ASKED;
    private int ends = NOT_ASKED;
    private int time = NOT_ASKED;

    /**
     * Adds the commands to a batch.
     *
     * @param slots whether to ask which slots are used, or only how many
     */
    StateReading(CommandBatch batch, RedisLayout layout, String client, ArmedState.Depth depth, boolean slots) {
        this.layout = layout;
        this.client = client;
        this.batch = batch;
        this.slots = slots;
        this.watchHolds = depth == ArmedState.Depth.HOLDS;
        batch.add(RedisVerb.WATCH, layout.control());
        if (watchHolds) {
            batch.add(RedisVerb.WATCH, layout.holds());
        }
        control = Control.read(batch, layout);
        if (depth != ArmedState.Depth.CONTROL) {
            queue = batch.add(RedisVerb.ZRANGE, layout.waiters(), "0", Integer.toString(ArmedState.WAITERS - 1));
        }
        if (depth.compareTo(ArmedState.Depth.ALL) >= 0) {
            life = batch.add(RedisVerb.ZSCORE, layout.lives(), client);
            used = batch.add(slots ? RedisVerb.HKEYS : RedisVerb.HLEN, layout.holds());
            ends = batch.add(RedisVerb.ZRANGE, layout.lives(), "0", "1", "WITHSCORES");
            time = batch.add(RedisVerb.TIME);
        }
    }

    CommandBatch batch() {
        return batch;
    }

    /** Whether everything was asked. */
    boolean isComplete() {
        return time != NOT_ASKED;
    }

    ArmedState parse(Replies replies, long sentNanos) {
        Reply score = replies.get(life);
        Reply slotReply = replies.get(used);
        Set<Integer> usedSlots = slots ? ArmedState.slots(layout, slotReply.list()) : null;
        return new ArmedState(
                Control.parse(layout, replies.get(control)),
                score.isNil() ? 0 : score.score(),
                usedSlots == null ? (int) slotReply.number() : usedSlots.size(),
                usedSlots,
                firstEnd(replies.get(ends).list()),
                texts(replies.get(queue)),
                ArmedState.micros(replies.get(time)),
                watchHolds,
                true,
                sentNanos);
    }

    /**
     * Adds what was read to what is known.
     *
     * @return null if the control is not the one that is known: then the rest is not known any more either
     */
    @Nullable
    ArmedState complete(ArmedState known, Replies replies) {
        if (known.control() == null || !known.control().equals(Control.parse(layout, replies.get(control)))) {
            return null;
        }
        return queue == NOT_ASKED ? known : known.with(texts(replies.get(queue)));
    }

    private static List<String> texts(Reply list) {
        return list.list().stream().map(Reply::text).toList();
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
