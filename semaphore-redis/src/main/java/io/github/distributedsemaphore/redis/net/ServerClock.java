package io.github.distributedsemaphore.redis.net;

/**
 * The server's clock, by which clients live and die, as far as this client knows it. A reading was taken at the server after the request
 * was sent and before the answer arrived. So the server shows at most that much plus what has passed since the sending, and at least
 * that much plus what has passed since the arrival.
 *
 * <p>Thread-safe.
 */
public final class ServerClock {
    /** A reading that is newer by so much replaces one that says more: clocks drift, and servers are replaced. */
    private static final long STALE_NANOS = 5_000_000_000L;

    /** Two clocks drift apart by less than a thousandth, also while one of them is slewed. */
    private static final long DRIFT_PARTS = 1_000;

    /** What is allowed beside that, for a reading that is hardly older. */
    private static final long DRIFT_MICROS = 1_000;

    private record Reading(long nanos, long serverMicros) {
        long microsAt(long now) {
            return serverMicros + (now - nanos) / 1_000;
        }

        long nanosAt(long micros) {
            return nanos + (micros - serverMicros) * 1_000;
        }

        /** By how much the two clocks may have drifted apart until a newer reading. */
        long driftMicros(Reading newer) {
            return DRIFT_MICROS + Math.max(0, newer.nanos - nanos) / 1_000 / DRIFT_PARTS;
        }

        boolean isStale(Reading newer) {
            return newer.nanos - nanos > STALE_NANOS;
        }
    }

    private volatile Reading latest = new Reading(0, Long.MAX_VALUE / 2);
    private volatile Reading earliest = new Reading(0, Long.MIN_VALUE / 2);

    /** What was asked before this was answered by another server. */
    private long restartNanos = System.nanoTime();

    /**
     * Takes a reading, if it is one of the present server.
     *
     * @param sentNanos the local instant before the request was sent, by {@code System.nanoTime}
     * @param heardNanos the local instant when the answer had arrived
     * @param serverMicros what the server said, in microseconds since 1970
     */
    public synchronized void read(long sentNanos, long heardNanos, long serverMicros) {
        if (sentNanos - restartNanos < 0) {
            return;
        }
        Reading most = new Reading(sentNanos, serverMicros);
        Reading least = new Reading(heardNanos, serverMicros);
        long now = System.nanoTime();
        // Somebody has set the clock. Mere drift must not have a slow answer replace both of the bounds that are known.
        boolean contradicts = most.microsAt(now) + earliest.driftMicros(most) < earliest.microsAt(now)
                || least.microsAt(now) - latest.driftMicros(least) > latest.microsAt(now);
        if (contradicts || latest.isStale(most) || most.microsAt(now) <= latest.microsAt(now)) {
            latest = most;
        }
        if (contradicts || earliest.isStale(least) || least.microsAt(now) >= earliest.microsAt(now)) {
            earliest = least;
        }
    }

    /** Takes the first reading of another server, whose clock may be behind or ahead of the other's. */
    public synchronized void restart(long sentNanos, long heardNanos, long serverMicros) {
        restartNanos = sentNanos;
        latest = new Reading(sentNanos, serverMicros);
        earliest = new Reading(heardNanos, serverMicros);
    }

    /** The server's time now, or a little more; in microseconds since 1970. */
    public long micros() {
        return latest.microsAt(System.nanoTime());
    }

    /** When the server's clock shows that time, or a little earlier; by {@code System.nanoTime}. */
    public long nanosAt(long serverMicros) {
        return latest.nanosAt(serverMicros);
    }

    /** The server's time now, or a little less; in microseconds since 1970. */
    public long earliestMicros() {
        return earliest.microsAt(System.nanoTime());
    }

    /** When {@link #earliestMicros} is that time; by {@code System.nanoTime}. */
    public long latestNanosAt(long serverMicros) {
        return earliest.nanosAt(serverMicros);
    }
}
