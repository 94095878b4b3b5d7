package io.github.distributedsemaphore.redis;

import java.security.SecureRandom;
import java.time.Instant;
import java.util.Optional;

/**
 * What is stored for a held slot: {@code client:number:run:base:since}. No two holds have the same.
 *
 * <p>An epoch is {@code base} plus a count per slot. The count is incremented by {@code run} in the transaction that takes the
 * slot, so epochs rise in the order of the grants. The base rises above everything that can have been granted whenever the
 * counts may have gone back: when the semaphore is created, and when a client finds another server than before.
 *
 * @param client the client, as in {@link RedisLayout#lives}
 * @param number counts the holds of the client
 * @param run how many epochs were reserved with the hold
 * @param base what its epochs are counted from
 * @param sinceMillis when it was taken, by the client's wall clock, in milliseconds since 1970
 */
record HoldValue(String client, long number, int run, long base, long sinceMillis) {
    private static final SecureRandom RANDOM = new SecureRandom();

    /** A name for a session that no other has. */
    static String newSession() {
        return Long.toString(RANDOM.nextLong() >>> 1, Character.MAX_RADIX)
                + Long.toString(RANDOM.nextInt(Character.MAX_RADIX * Character.MAX_RADIX), Character.MAX_RADIX);
    }

    /** A session that was given up for dead goes on as another client; the channel stays. */
    static String client(String session, int life) {
        return session + "." + life;
    }

    static String sessionOf(String client) {
        int dot = client.indexOf('.');
        return dot < 0 ? client : client.substring(0, dot);
    }

    /** The client that a stored text begins with; the text itself if it has no such form. */
    static String clientOf(String stored) {
        int colon = stored.indexOf(':');
        return colon < 0 ? stored : stored.substring(0, colon);
    }

    static Optional<HoldValue> parse(String stored) {
        String[] parts = stored.split(":", -1);
        if (parts.length != 5) {
            return Optional.empty();
        }
        try {
            return Optional.of(new HoldValue(
                    parts[0],
                    Long.parseLong(parts[1]),
                    Integer.parseInt(parts[2]),
                    Long.parseLong(parts[3]),
                    Long.parseLong(parts[4])));
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    Instant since() {
        return Instant.ofEpochMilli(sinceMillis);
    }

    /**
     * The first epoch of the hold.
     *
     * @param count the count of the slot after the hold was taken
     */
    long firstEpoch(long count) {
        return base + count - run + 1;
    }

    @Override
    public String toString() {
        return client + ":" + number + ":" + run + ":" + base + ":" + sinceMillis;
    }
}
