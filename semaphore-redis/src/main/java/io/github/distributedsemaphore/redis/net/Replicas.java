package io.github.distributedsemaphore.redis.net;

import java.time.Duration;

/**
 * How many replicas have to have a grant or a renewal before it counts. WAIT tells how many have what this connection wrote,
 * and with it everything that was written before.
 *
 * @param needed how many; 0 to ask nobody
 * @param atMost how long the server waits for them
 */
public record Replicas(int needed, Duration atMost) {
    public static final int NOT_ASKED = -1;

    /** Begins what Redis says when too few replicas are there, and what is said here of it. */
    static final String SHORTAGE = "NOREPLICAS";

    /** Adds the question, after the commands that it is about and outside of their transaction; returns its index. */
    public int ask(CommandBatch batch) {
        return needed == 0 ? NOT_ASKED : batch.addWait(needed, atMost.toMillis());
    }

    /** Adds a question that waits for nobody, before a change: it fails where the user may not ask. Returns its index. */
    public int askForRight(CommandBatch batch) {
        return needed == 0 ? NOT_ASKED : batch.add(RedisVerb.WAIT, "0", "0");
    }

    /**
     * Looks at the answer.
     *
     * @param index what {@link #askForRight} returned
     * @throws RedisErrorException if the user may not ask
     */
    public void requireRight(Replies replies, int index) {
        if (index != NOT_ASKED) {
            replies.get(index);
        }
    }

    /**
     * Looks at the answer.
     *
     * @param index what {@link #ask} returned
     * @throws RedisErrorException if fewer have it
     */
    public void require(Replies replies, int index) {
        if (index == NOT_ASKED) {
            return;
        }
        long have = replies.get(index).number();
        if (have < needed) {
            throw new RedisErrorException(SHORTAGE + " " + have + " of the " + needed
                    + " replicas that the setting 'minReplicas' asks for have the change after " + atMost.toMillis()
                    + " ms");
        }
    }
}
