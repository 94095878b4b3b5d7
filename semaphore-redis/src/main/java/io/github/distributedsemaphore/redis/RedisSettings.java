package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.redis.net.Replicas;
import io.github.distributedsemaphore.redis.net.ServerSettings;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;

/**
 * What a URI says.
 *
 * @param servers where the servers are, and how to reach them
 * @param prefix what the names of our keys begin with
 * @param detection within which time the slot of a dead holder is free
 * @param minReplicas how many replicas have to have a grant before it counts
 * @param handOver whether this client takes slots that a release hands to it
 * @param self what to store about this client
 */
record RedisSettings(
        ServerSettings servers, String prefix, Duration detection, int minReplicas, boolean handOver, HolderInfo self) {
    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    private static final Duration DETECTION = Duration.ofSeconds(10);
    private static final Duration MIN_DETECTION = Duration.ofSeconds(1);
    private static final Duration MAX_DETECTION = Duration.ofHours(1);
    private static final int MOST_REPLICAS = 100;

    static RedisSettings from(BackendUri uri, HolderInfo self) {
        return new RedisSettings(
                ServerSettings.from(uri, TIMEOUT),
                prefix(uri.text("prefix", "semaphore")),
                uri.duration("detection", DETECTION, MIN_DETECTION, MAX_DETECTION),
                uri.integer("minReplicas", 0, 0, MOST_REPLICAS),
                uri.flag("handOver", false),
                self);
    }

    Duration timeout() {
        return servers.timeout();
    }

    /** What replicas are asked for as a part of a call that may take so long. */
    Replicas replicas(Duration call) {
        return new Replicas(minReplicas, call.dividedBy(2));
    }

    private static String prefix(String prefix) {
        // A colon or a brace would let the keys of two prefixes, or of a name and its neighbour, run into each other.
        if (!prefix.matches("[A-Za-z0-9._/-]{1,100}")) {
            throw new IllegalArgumentException("Setting 'prefix' is '" + prefix
                    + "', it must be 1 to 100 of the letters a-z and A-Z, digits, and . _ / -");
        }
        return prefix;
    }

    /**
     * For how long a renewal keeps a client alive. The rest of the detection bound is for waiting clients: they look at the
     * deadline, ask, and take the dead holder's slots in a transaction.
     */
    Duration lease() {
        return detection.multipliedBy(85).dividedBy(100);
    }

    Duration renewEvery() {
        return lease().dividedBy(4);
    }

    /**
     * How long a renewal may take: short enough that it can be repeated on another connection within the lease, however long the
     * time-out is.
     */
    Duration renewal() {
        Duration third = lease().dividedBy(3);
        return third.compareTo(timeout()) > 0 ? timeout() : third;
    }

    /**
     * How much of the lease is left when slots are taken, or else it is renewed with that: two renewals fit into it, if a lease is so long. A slot
     * that another client hands over, or that is found after a lost reply, has what is left. Where answers are slow a grant has less, by what
     * the last ones took.
     */
    Duration lifeOfGrant() {
        Duration twoRenewals =
                renewEvery().plus(renewal().plus(renewEvery().dividedBy(4)).multipliedBy(2));
        Duration most = lease().multipliedBy(7).dividedBy(8);
        return twoRenewals.compareTo(most) > 0 ? most : twoRenewals;
    }

    @Override
    public String toString() {
        return servers + ", prefix " + prefix + ", detection " + detection;
    }
}
