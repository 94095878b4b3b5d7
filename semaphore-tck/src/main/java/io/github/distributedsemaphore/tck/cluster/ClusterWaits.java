package io.github.distributedsemaphore.tck.cluster;

import io.github.distributedsemaphore.tck.run.Pause;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for clusters, which take their time and fail meanwhile. */
final class ClusterWaits {
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final Duration LOOK = Duration.ofMillis(50);

    private ClusterWaits() {}

    static void await(String what, BooleanSupplier condition) {
        boolean unused = retry(() -> {
            if (!condition.getAsBoolean()) {
                throw new IllegalStateException(what + ": not within " + PATIENCE);
            }
            return true;
        });
    }

    static <T> T retry(Supplier<T> call) {
        long begun = System.nanoTime();
        while (true) {
            try {
                return call.get();
            } catch (RuntimeException e) {
                if (System.nanoTime() - begun > PATIENCE.toNanos()) {
                    throw e;
                }
                Pause.millis(LOOK.toMillis());
            }
        }
    }
}
