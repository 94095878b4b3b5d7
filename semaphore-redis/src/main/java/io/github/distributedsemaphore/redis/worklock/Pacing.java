package io.github.distributedsemaphore.redis.worklock;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Where a worker has its time from. */
interface Pacing {
    /** The time of this process. */
    Pacing SYSTEM = new Pacing() {
        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        @Override
        public boolean pause(CountDownLatch end, long nanos) throws InterruptedException {
            return end.await(nanos, TimeUnit.NANOSECONDS);
        }
    };

    long nanoTime();

    /**
     * Waits.
     *
     * @return true if the end came first
     */
    boolean pause(CountDownLatch end, long nanos) throws InterruptedException;
}
