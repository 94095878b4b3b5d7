package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Short waits for the server. An interrupt neither ends them, since the outcome would be open, nor is it lost. */
final class Waits {
    private Waits() {}

    static <T> T uninterrupted(Future<T> future, Duration atMost) throws ExecutionException, TimeoutException {
        long end = System.nanoTime() + atMost.toNanos();
        try (InterruptShield shield = new InterruptShield()) {
            while (true) {
                try {
                    return future.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    shield.absorb(e);
                }
            }
        }
    }
}
