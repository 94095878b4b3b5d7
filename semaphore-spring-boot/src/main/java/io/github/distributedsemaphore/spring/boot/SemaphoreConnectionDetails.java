package io.github.distributedsemaphore.spring.boot;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;
import org.springframework.boot.ssl.SslBundle;

/**
 * Where the backend is, for an application that does not say so by the property {@code distributed-semaphore.uri}. The starters make one of
 * Spring Boot's connection details for Redis or RabbitMQ; a bean of the application comes before those. Implementations are immutable.
 */
public interface SemaphoreConnectionDetails extends ConnectionDetails {
    /**
     * Returns the address.
     *
     * @return a URI as for {@link io.github.distributedsemaphore.SemaphoreClient#connect}
     */
    String uri();

    /**
     * Returns the user.
     *
     * @return null if there is none, or if it is in the URI
     */
    default @Nullable String username() {
        return null;
    }

    /**
     * Returns the password.
     *
     * @return null if there is none, or if it is in the URI
     */
    default @Nullable String password() {
        return null;
    }

    /**
     * Returns what encrypted connections trust and show. The scheme of the URI says whether they are encrypted.
     *
     * @return null for what the JVM trusts
     */
    default @Nullable SslBundle sslBundle() {
        return null;
    }

    /**
     * Puts details together.
     *
     * @param uri see {@link #uri}
     * @param username see {@link #username}
     * @param password see {@link #password}
     * @param sslBundle see {@link #sslBundle}
     * @return the details
     */
    static SemaphoreConnectionDetails of(
            String uri, @Nullable String username, @Nullable String password, @Nullable SslBundle sslBundle) {
        record Details(
                String uri,
                @Nullable String username,
                @Nullable String password,
                @Nullable SslBundle sslBundle) implements SemaphoreConnectionDetails {
            @Override // without credentials
            public String toString() {
                return NoBackendException.shown(uri);
            }
        }
        return new Details(uri, username, password, sslBundle);
    }
}
