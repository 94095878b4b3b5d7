package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.spi.BackendUri;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.lettuce.core.RedisURI;
import java.time.Duration;

/**
 * What a URI says.
 *
 * @param address where the server is and who we are there
 * @param endpoint host and port, for messages: no credentials
 * @param prefix what the names of our keys begin with
 * @param detection within which time the slot of a dead holder is free
 * @param self what to store about this client
 */
record RedisSettings(RedisURI address, String endpoint, String prefix, Duration detection, HolderInfo self) {
    static final int DEFAULT_PORT = 6379;

    private static final Duration DETECTION = Duration.ofSeconds(10);
    private static final Duration MIN_DETECTION = Duration.ofSeconds(1);
    private static final Duration MAX_DETECTION = Duration.ofHours(1);
    private static final Duration CALL = Duration.ofSeconds(2);
    private static final Duration SHORTEST_RENEWAL = Duration.ofMillis(250);

    static RedisSettings from(BackendUri uri, HolderInfo self) {
        HostAndPort server = HostAndPort.parse(uri.hosts());
        RedisURI.Builder address = RedisURI.builder()
                .withHost(server.host())
                .withPort(server.port())
                .withDatabase(database(uri.path()));
        if (!uri.user().isEmpty()) {
            address.withAuthentication(uri.user(), uri.password().toCharArray());
        } else if (!uri.password().isEmpty()) {
            address.withPassword(uri.password().toCharArray());
        }
        return new RedisSettings(
                address.build(),
                server.toString(),
                prefix(uri.text("prefix", "semaphore")),
                uri.duration("detection", DETECTION, MIN_DETECTION, MAX_DETECTION),
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

    private static int database(String path) {
        if (path.isEmpty() || path.equals("/")) {
            return 0;
        }
        if (!path.matches("/\\d{1,6}")) {
            throw new IllegalArgumentException(
                    "The path of a redis URI is '" + path + "', it must be the number of a database, such as /0");
        }
        return Integer.parseInt(path.substring(1));
    }

    /**
     * For how long a renewal keeps a client alive. The rest of the detection bound is for those who wait: they look at the
     * deadline, ask, and take the dead holder's slots in a transaction.
     */
    Duration lease() {
        return detection.multipliedBy(85).dividedBy(100);
    }

    Duration renewEvery() {
        return lease().dividedBy(4);
    }

    /** How long one call may take. */
    Duration call() {
        return CALL;
    }

    /** How long a renewal may take: short enough that it can be repeated on another connection within the lease. */
    Duration renewal() {
        Duration third = lease().dividedBy(3);
        Duration atLeast = third.compareTo(SHORTEST_RENEWAL) < 0 ? SHORTEST_RENEWAL : third;
        return atLeast.compareTo(CALL) > 0 ? CALL : atLeast;
    }

    @Override
    public String toString() {
        return endpoint + ", prefix " + prefix + ", detection " + detection;
    }
}
