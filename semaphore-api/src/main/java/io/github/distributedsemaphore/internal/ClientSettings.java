package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;

/**
 * The settings that belong to the engine and not to a backend.
 *
 * @param label what the client calls itself
 * @param handOffs how many times in a row a slot passes among local threads
 * @param handOffTime for how long it does so without the backend being asked
 * @param recheck how often a waiter asks the backend again without a hint
 * @param turn how long other clients are left to take a slot after a run of hand-offs
 * @param outagePatience for how long a waiting call puts up with a backend that does not answer
 */
record ClientSettings(
        String label, int handOffs, Duration handOffTime, Duration recheck, Duration turn, Duration outagePatience) {
    static ClientSettings from(BackendUri uri, SemaphoreBackend backend) {
        return new ClientSettings(
                label(uri),
                uri.integer("handOffs", 500, 0, 10_000),
                uri.duration("handOffTime", backend.handOffTime(), Duration.ZERO, Duration.ofSeconds(10)),
                uri.duration("recheck", Duration.ofSeconds(1), Duration.ofMillis(1), Duration.ofMinutes(1)),
                uri.duration("turn", Duration.ofMillis(5), Duration.ZERO, Duration.ofSeconds(1)),
                uri.duration("outagePatience", Duration.ofSeconds(30), Duration.ZERO, Duration.ofDays(1)));
    }

    /** What the client calls itself, which a backend needs to know when it is made. */
    static String label(BackendUri uri) {
        return uri.text("label", "");
    }
}
