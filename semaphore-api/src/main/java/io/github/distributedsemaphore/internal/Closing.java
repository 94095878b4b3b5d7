package io.github.distributedsemaphore.internal;

import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Releases that must not throw. */
final class Closing {
    private static final Logger LOG = LoggerFactory.getLogger(Closing.class);

    private Closing() {}

    static void quietly(Coordinator coordinator, List<HeldPermit> permits) {
        for (Returning returning : coordinator.release(permits)) {
            try {
                returning.outcome();
            } catch (RuntimeException e) {
                LOG.warn(
                        "Release of slot {} of semaphore '{}' is not confirmed yet: {}",
                        returning.hold().hold().slot(),
                        coordinator.name(),
                        e.getMessage());
            }
        }
    }
}
