package io.github.distributedsemaphore.spring.boot;

import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties of an application.
 *
 * @param uri Backend to connect to, such as redis://cache:6379. Without it the connection details of Spring Boot for Redis or RabbitMQ
 *     are used. There is no default backend.
 * @param label What the client calls itself in descriptions. Defaults to the name of the application.
 * @param detection How long a slot may stay taken after its holder died without a word. The default is the backend's.
 * @param settings Further settings of the client and the backend by the name that they have in a URI.
 * @param semaphores Semaphores to have before the application takes its first permit, by name.
 * @param methods Methods that are annotated with WithPermit.
 * @param health Health indicator.
 * @param metrics Meters.
 * @param shutdown Shutdown of the application.
 */
@ConfigurationProperties("distributed-semaphore")
public record SemaphoreProperties(
        @Nullable String uri,
        @Nullable String label,
        @Nullable Duration detection,
        @DefaultValue Map<String, String> settings,
        @DefaultValue Map<String, Semaphore> semaphores,
        @DefaultValue Methods methods,
        @DefaultValue Health health,
        @DefaultValue Metrics metrics,
        @DefaultValue Shutdown shutdown) {
    /**
     * A semaphore to have.
     *
     * @param limit How many permits it has, at least 1.
     * @param onConflict What happens if it exists with another limit.
     */
    public record Semaphore(
            int limit, @DefaultValue("resize") OnConflict onConflict) {
        /**
         * Checks the limit.
         *
         * @param limit see the record
         * @param onConflict see the record
         * @throws IllegalArgumentException if the limit is less than 1
         */
        public Semaphore {
            if (limit < 1) {
                throw new IllegalArgumentException("The limit of a semaphore is " + limit + ", it must be at least 1");
            }
        }
    }

    /** What happens if a semaphore exists with another limit than the properties say. */
    public enum OnConflict {
        /** It gets the limit of the properties. */
        RESIZE,
        /** The start of the application fails. */
        FAIL,
        /** It keeps its limit. */
        KEEP
    }

    /**
     * Methods that are annotated.
     *
     * @param maxWait Longest wait for a permit of a method that does not state one.
     * @param order Order among the interceptors of a bean. The default is outside of transactions.
     */
    public record Methods(
            @DefaultValue("30s") Duration maxWait,
            @DefaultValue("2147483547") int order) {}

    /**
     * Health indicator.
     *
     * @param timeout Longest wait for an answer of the backend.
     */
    public record Health(@DefaultValue("2s") Duration timeout) {
        /**
         * Checks the timeout.
         *
         * @param timeout see the record
         * @throws IllegalArgumentException if the timeout is not more than 0
         */
        public Health {
            if (timeout.isZero() || timeout.isNegative()) {
                throw new IllegalArgumentException(
                        "The timeout of the health indicator is " + timeout + ", it must be more than 0");
            }
        }
    }

    /**
     * Meters.
     *
     * @param enabled Whether to register meters, where semaphore-micrometer is on the path.
     */
    public record Metrics(@DefaultValue("true") boolean enabled) {}

    /**
     * Shutdown.
     *
     * @param awaitHolders Longest wait for work under a permit, after the web server and the executors have stopped and before the client
     *     gives its permits back.
     */
    public record Shutdown(@DefaultValue("10s") Duration awaitHolders) {
        /**
         * Checks the wait.
         *
         * @param awaitHolders see the record
         * @throws IllegalArgumentException if the wait is negative
         */
        public Shutdown {
            if (awaitHolders.isNegative()) {
                throw new IllegalArgumentException(
                        "The longest wait of the shutdown is " + awaitHolders + ", it must not be negative");
            }
        }
    }
}
