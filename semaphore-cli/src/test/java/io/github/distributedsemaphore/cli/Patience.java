package io.github.distributedsemaphore.cli;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

/** How long the tests wait for what other processes do: a machine may be busy with other builds. */
public final class Patience {
    private Patience() {}

    public static ConditionFactory await() {
        return Awaitility.await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(10));
    }
}
