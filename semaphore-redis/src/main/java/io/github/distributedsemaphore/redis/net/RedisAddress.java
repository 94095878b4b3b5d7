package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Which servers a URI means.
 *
 * @param kind how they belong together
 * @param encrypted whether to speak TLS with them
 * @param hosts the server; or sentinels to ask for it; or some nodes of the cluster
 * @param master the name under which sentinels know the server; empty without them
 * @param database the number of the database
 */
public record RedisAddress(Kind kind, boolean encrypted, List<HostAndPort> hosts, String master, int database) {
    private static final int SERVER_PORT = 6379;
    private static final int SENTINEL_PORT = 26379;
    private static final String ENCRYPTED = "rediss";

    enum Kind {
        SERVER,
        SENTINEL,
        CLUSTER
    }

    public static Set<String> schemes() {
        return Set.of("redis", "rediss", "redis-sentinel", "rediss-sentinel", "redis-cluster", "rediss-cluster");
    }

    static RedisAddress from(BackendUri uri) {
        String scheme = uri.scheme();
        int dash = scheme.indexOf('-');
        Kind kind =
                dash < 0 ? Kind.SERVER : Kind.valueOf(scheme.substring(dash + 1).toUpperCase(Locale.ROOT));
        int port = kind == Kind.SENTINEL ? SENTINEL_PORT : SERVER_PORT;
        List<HostAndPort> hosts = HostAndPort.parseAll(uri.hosts(), port);
        String master = kind == Kind.SENTINEL ? uri.text("master", "") : "";
        if (kind == Kind.SERVER && hosts.size() > 1) {
            throw new IllegalArgumentException(scheme + ": takes one server, not '" + uri.hosts()
                    + "'; several are for redis-sentinel: and redis-cluster:");
        }
        if (kind == Kind.SENTINEL && master.isEmpty()) {
            throw new IllegalArgumentException(
                    scheme + ": needs the name under which the sentinels know the server: ?master=NAME");
        }
        int database = database(uri.path());
        if (kind == Kind.CLUSTER && database != 0) {
            throw new IllegalArgumentException(scheme + ": a cluster has database 0 only, not " + database);
        }
        return new RedisAddress(kind, scheme.startsWith(ENCRYPTED), hosts, master, database);
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

    /** For messages. */
    @Override
    public String toString() {
        String list = hosts.stream().map(HostAndPort::toString).collect(Collectors.joining(","));
        return switch (kind) {
            case SERVER -> list;
            case SENTINEL -> "'" + master + "' of the sentinels " + list;
            case CLUSTER -> "the cluster of " + list;
        };
    }
}
