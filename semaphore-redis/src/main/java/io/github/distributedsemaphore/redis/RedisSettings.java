package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.TlsSettings;
import java.time.Duration;
import java.util.Optional;

/**
 * What a URI says.
 *
 * @param address where the servers are
 * @param credentials for the server
 * @param sentinelCredentials for the sentinels
 * @param tls what encrypted connections trust; empty if they are not encrypted
 * @param prefix what the names of our keys begin with
 * @param detection within which time the slot of a dead holder is free
 * @param timeout how long a server may take to answer
 * @param minReplicas how many replicas have to have a grant before it counts
 * @param handOver whether this client takes slots that a release hands to it
 * @param self what to store about this client
 */
public record RedisSettings(
        RedisAddress address,
        Credentials credentials,
        Credentials sentinelCredentials,
        Optional<TlsSettings> tls,
        String prefix,
        Duration detection,
        Duration timeout,
        int minReplicas,
        boolean handOver,
        HolderInfo self) {
    private static final Duration DETECTION = Duration.ofSeconds(10);
    private static final Duration MIN_DETECTION = Duration.ofSeconds(1);
    private static final Duration MAX_DETECTION = Duration.ofHours(1);
    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    private static final Duration MIN_TIMEOUT = Duration.ofMillis(200);
    private static final Duration MAX_TIMEOUT = Duration.ofMinutes(1);
    private static final int MOST_REPLICAS = 100;
    private static final Duration SHORTEST_RENEWAL = Duration.ofMillis(250);

    public static RedisSettings from(BackendUri uri, HolderInfo self) {
        RedisAddress address = RedisAddress.from(uri);
        boolean sentinels = address.kind() == RedisAddress.Kind.SENTINEL;
        return new RedisSettings(
                address,
                new Credentials(uri.user(), uri.password()),
                sentinels
                        ? new Credentials(uri.text("sentinelUser", ""), uri.text("sentinelPassword", ""))
                        : Credentials.NONE,
                TlsSettings.from(uri, address.encrypted(), "rediss"),
                prefix(uri.text("prefix", "semaphore")),
                uri.duration("detection", DETECTION, MIN_DETECTION, MAX_DETECTION),
                uri.duration("timeout", TIMEOUT, MIN_TIMEOUT, MAX_TIMEOUT),
                uri.integer("minReplicas", 0, 0, MOST_REPLICAS),
                uri.flag("handOver", false),
                self);
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
    public Duration lease() {
        return detection.multipliedBy(85).dividedBy(100);
    }

    public Duration renewEvery() {
        return lease().dividedBy(4);
    }

    /** Adds the commands that identify this client and choose the database. */
    void addIdentity(CommandBatch batch) {
        credentials.addTo(batch);
        if (address.database() != 0) {
            batch.add(RedisVerb.SELECT, Integer.toString(address.database()));
        }
        batch.add(RedisVerb.PING);
    }

    /**
     * How long a renewal may take: short enough that it can be repeated on another connection within the lease, however long the
     * time-out is.
     */
    public Duration renewal() {
        Duration third = lease().dividedBy(3);
        Duration atLeast = third.compareTo(SHORTEST_RENEWAL) < 0 ? SHORTEST_RENEWAL : third;
        return atLeast.compareTo(timeout) > 0 ? timeout : atLeast;
    }

    @Override
    public String toString() {
        return address + ", prefix " + prefix + ", detection " + detection;
    }
}
