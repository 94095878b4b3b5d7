package io.github.distributedsemaphore.redis.net;

/**
 * The server's clock, by which clients live and die, as far as this client knows it: never behind the true one. A reading
 * that arrived at a local instant was taken at the server after the request was sent, so the server shows at most that much
 * plus what has passed since the sending.
 *
 * <p>Thread-safe.
 */
public final class ServerClock {
    /** After this a reading is replaced by a worse one: clocks drift, and servers are replaced. */
    private static final long STALE_NANOS = 5_000_000_000L;

    private record Reading(long sentNanos, long serverMicros) {
        long microsAt(long nanos) {
            return serverMicros + (nanos - sentNanos) / 1_000;
        }
    }

    private volatile Reading best = new Reading(0, Long.MAX_VALUE / 2);

    /** What was asked before this was answered by another server. */
    private long restartNanos = System.nanoTime();

    /**
     * Takes a reading, if it is one of the present server.
     *
     * @param sentNanos the local instant before the request was sent, by {@code System.nanoTime}
     * @param serverMicros what the server said, in microseconds since 1970
     */
    public synchronized void read(long sentNanos, long serverMicros) {
        if (sentNanos - restartNanos < 0) {
            return;
        }
        Reading known = best;
        Reading reading = new Reading(sentNanos, serverMicros);
        long now = System.nanoTime();
        boolean stale = now - known.sentNanos > STALE_NANOS || known.serverMicros > Long.MAX_VALUE / 4;
        if (stale || reading.microsAt(now) <= known.microsAt(now)) {
            best = reading;
        }
    }

    /** Takes the first reading of another server, whose clock may be behind or ahead of the other's. */
    public synchronized void restart(long sentNanos, long serverMicros) {
        restartNanos = sentNanos;
        best = new Reading(sentNanos, serverMicros);
    }

    /** The server's time now, or a little more; in microseconds since 1970. */
    public long micros() {
        return best.microsAt(System.nanoTime());
    }

    /** When the server's clock shows that time, or a little earlier; by {@code System.nanoTime}. */
    public long nanosAt(long serverMicros) {
        Reading known = best;
        return known.sentNanos + (serverMicros - known.serverMicros) * 1_000;
    }
}
