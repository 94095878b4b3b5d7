package io.github.distributedsemaphore.tck.run;

import java.time.Duration;

/** Short sleeps of the kit's own loops. An interrupt of the test's thread ends the test. */
public final class Pause {
    private Pause() {}

    public static void millis(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    public static void join(Thread thread, Duration patience) {
        try {
            thread.join(Math.max(1, patience.toMillis()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
