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
    /** For what does not need any. */
    static final Replicas NONE = new Replicas(0, Duration.ZERO);

    /** Begins what Redis says when too few replicas are there, and what is said here of it. */
    static final String SHORTAGE = "NOREPLICAS";
}
