package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import io.github.distributedsemaphore.spi.support.TlsSettings;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * How a client uses a Consul agent.
 *
 * @param agent where the agent listens for HTTP
 * @param tls the certificates of the other side and our own; null for a connection in clear
 * @param token the ACL token; empty for none
 * @param datacenter where the semaphores are; empty for the agent's own
 * @param node the node of the catalog that the sessions belong to, and end with; empty for the agent's own
 * @param prefix below which key all semaphores are, without slashes at its ends; empty for none
 * @param detection within which time the slot of a dead holder is free
 * @param timeout how long a call of the port may take
 * @param grace for how long the watch over a semaphore may fail before what is held there counts as lost; null for as long as
 *     the permits are valid
 * @param self what to store beside each hold
 */
record ConsulSettings(
        HostAndPort agent,
        @Nullable SSLContext tls,
        String token,
        String datacenter,
        String node,
        String prefix,
        Duration detection,
        Duration timeout,
        @Nullable Duration grace,
        HolderInfo self) {
    static final String TLS_SCHEME = "consul+https";
    static final int MAX_PREFIX = 80;

    private static final String NO_GRACE = "none";
    private static final int DEFAULT_PORT = 8500;
    private static final int DEFAULT_TLS_PORT = 8501;
    /** What is left for the server to notice the end and for a waiter to hear of it. */
    private static final Duration SLACK = Duration.ofSeconds(2);

    private static final Duration SHORTEST_DETECTION = Duration.ofSeconds(22);
    private static final Duration LONGEST_DETECTION = Duration.ofHours(1);
    private static final Duration SHORTEST_TIMEOUT = Duration.ofSeconds(1);
    private static final Duration LONGEST_TIMEOUT = Duration.ofMinutes(1);

    static ConsulSettings from(BackendUri uri, HolderInfo self) {
        if (!uri.path().isEmpty() && !uri.path().equals("/")) {
            throw new IllegalArgumentException("A path ('" + uri.path()
                    + "') has no meaning in a Consul address: give the keys' prefix by the setting 'prefix'");
        }
        if (!uri.user().isEmpty() || !uri.password().isEmpty()) {
            throw new IllegalArgumentException(
                    "User and password have no meaning in a Consul address: give an ACL token by the setting 'token'");
        }
        String hosts = uri.hosts();
        if (!hosts.matches("([A-Za-z0-9._-]+|\\[[0-9A-Fa-f.:]+])(:[^:]*)?")) {
            throw new IllegalArgumentException("'" + hosts + "' is not one host: write " + uri.scheme()
                    + "://host:port, with the address of one agent");
        }
        SSLContext tls = TlsSettings.from(uri, uri.scheme().equals(TLS_SCHEME), TLS_SCHEME)
                .map(TlsSettings::context)
                .orElse(null);
        int standard = tls == null ? DEFAULT_PORT : DEFAULT_TLS_PORT;
        return new ConsulSettings(
                HostAndPort.parse(hosts, standard),
                tls,
                token(uri.text("token", "")),
                word("dc", uri.text("dc", ""), false),
                word("node", uri.text("node", ""), true),
                prefix(uri.text("prefix", "")),
                uri.duration("detection", Duration.ofSeconds(30), SHORTEST_DETECTION, LONGEST_DETECTION),
                uri.duration("timeout", Duration.ofSeconds(5), SHORTEST_TIMEOUT, LONGEST_TIMEOUT),
                grace(uri),
                self);
    }

    private static @Nullable Duration grace(BackendUri uri) {
        boolean given = !uri.text("grace", NO_GRACE).equals(NO_GRACE);
        return given ? uri.duration("grace", Duration.ZERO, Duration.ZERO, LONGEST_DETECTION) : null;
    }

    /** It goes into a header, where other characters would be another header or nothing. It is not in the message. */
    private static String token(String value) {
        if (!value.matches("[\\x21-\\x7e]*")) {
            throw new IllegalArgumentException("Setting 'token' has a character that is no part of an ACL token");
        }
        return value;
    }

    /** A word. That of a node may have dots, for it is often the name of a host with its domain. */
    private static String word(String setting, String value, boolean dots) {
        if (!value.matches(dots ? "[A-Za-z0-9._-]*" : "[A-Za-z0-9_-]*")) {
            throw new IllegalArgumentException("Setting '" + setting + "' is '" + value
                    + "', it must consist of letters, digits, hyphens"
                    + (dots ? ", underscores and dots" : " and underscores"));
        }
        return value;
    }

    private static String prefix(String value) {
        boolean plain = value.isEmpty() || (KeyNames.isPlain(value) && value.length() <= MAX_PREFIX);
        if (!plain) {
            throw new IllegalArgumentException(
                    "Setting 'prefix' is '" + value + "', it must be a key of at most " + MAX_PREFIX
                            + " letters, digits, '-', '_', '.' and single slashes between them, such as service/app");
        }
        return value;
    }

    /** Returns the session's time to live: Consul takes twice as long before it ends a session. */
    Duration ttl() {
        return detection.minus(SLACK).dividedBy(2);
    }

    Duration renewEvery() {
        return ttl().dividedBy(5);
    }

    /** Returns after which time a call gives up: what is left of its time is for a busy machine. */
    Duration giveUpAfter() {
        return timeout.multipliedBy(9).dividedBy(10);
    }

    /** Returns how long a renewal may take: three that are not answered fit between the last one and the end of the permits. */
    Duration renewalTimeout() {
        return giveUpAfter().compareTo(renewEvery()) < 0 ? giveUpAfter() : renewEvery();
    }

    /** Creates a way to the agent, see {@link ConsulHttp}. */
    ConsulHttp http(Duration longest, int connections) {
        return new ConsulHttp(agent, tls, token, datacenter, longest, connections);
    }

    /** Returns what messages call a semaphore. */
    String subject(String name) {
        return "Semaphore '" + name + "' in Consul at " + this;
    }

    @Override
    public String toString() {
        return agent + (prefix.isEmpty() ? "" : "/" + prefix);
    }
}
