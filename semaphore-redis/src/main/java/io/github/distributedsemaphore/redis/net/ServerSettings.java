package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.TlsSettings;
import java.time.Duration;
import java.util.Optional;

/**
 * What a URI says of the servers.
 *
 * @param address where they are
 * @param credentials for the server
 * @param sentinelCredentials for the sentinels
 * @param tls what encrypted connections trust; empty if they are not encrypted
 * @param timeout how long a server may take to answer
 */
public record ServerSettings(
        RedisAddress address,
        Credentials credentials,
        Credentials sentinelCredentials,
        Optional<TlsSettings> tls,
        Duration timeout) {
    private static final Duration MIN_TIMEOUT = Duration.ofMillis(200);
    private static final Duration MAX_TIMEOUT = Duration.ofMinutes(1);

    /**
     * User and password at a server.
     *
     * @param user empty for the default user
     * @param password empty if there is none
     */
    public record Credentials(String user, String password) {
        static final Credentials NONE = new Credentials("", "");

        /** Adds the command that says so, if there is anything to say. */
        void addTo(CommandBatch batch) {
            if (!user.isEmpty()) {
                batch.add(RedisVerb.AUTH, user, password);
            } else if (!password.isEmpty()) {
                batch.add(RedisVerb.AUTH, password);
            }
        }

        @Override
        public String toString() {
            return user.isEmpty() ? "the default user" : "user '" + user + "'";
        }
    }

    /**
     * Reads the settings.
     *
     * @param timeout the time-out that holds if the URI names none
     */
    public static ServerSettings from(BackendUri uri, Duration timeout) {
        RedisAddress address = RedisAddress.from(uri);
        boolean sentinels = address.kind() == RedisAddress.Kind.SENTINEL;
        return new ServerSettings(
                address,
                new Credentials(uri.user(), uri.password()),
                sentinels
                        ? new Credentials(uri.text("sentinelUser", ""), uri.text("sentinelPassword", ""))
                        : Credentials.NONE,
                TlsSettings.from(uri, address.encrypted(), "rediss"),
                uri.duration("timeout", timeout, MIN_TIMEOUT, MAX_TIMEOUT));
    }

    /** Adds the commands that identify this client and choose the database; at least one, which shows that the server lets it in. */
    void addIdentity(CommandBatch batch) {
        credentials.addTo(batch);
        if (batch.isEmpty()) {
            batch.add(RedisVerb.PING);
        }
        if (address.database() != 0) {
            batch.add(RedisVerb.SELECT, Integer.toString(address.database()));
        }
    }

    @Override
    public String toString() {
        return address.toString();
    }
}
