package io.github.distributedsemaphore.tck.run;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;

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

    /** For a task of the test, which an interrupt ends early. */
    public static void until(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
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
