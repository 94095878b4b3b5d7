package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.redis.net.Reply;
import io.github.distributedsemaphore.spi.Hold;
import org.jspecify.annotations.Nullable;

/**
 * A message to a client that waits: a slot was moved into its set. On the wire {@code client slot first last}; any other text is
 * a hint that something may be free.
 *
 * @param client to whom it was given; a session that goes on under another name does not have it
 * @param hold the slot with its epochs
 */
record Offer(String client, Hold hold) {
    /** Something may be free. */
    static final String HINT = "0";

    private static final int PARTS = 4;

    /** Returns null for a hint. */
    static @Nullable Offer parse(String message) {
        String[] parts = message.split(" ", -1);
        if (parts.length != PARTS) {
            return null;
        }
        long slot = Reply.digits(parts[1]);
        long first = Reply.digits(parts[2]);
        long last = Reply.digits(parts[3]);
        boolean valid = slot >= 1 && slot <= Control.MAX_LIMIT && first >= 0 && last >= first;
        return valid ? new Offer(parts[0], new Hold((int) slot, first, last)) : null;
    }

    @Override
    public String toString() {
        return client + " " + hold.slot() + " " + hold.epoch() + " " + hold.lastEpoch();
    }
}
