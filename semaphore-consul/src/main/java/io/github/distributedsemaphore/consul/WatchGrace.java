package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.Deadline;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** For how long a watch may fail without a break. Thread-safe. */
final class WatchGrace {
    private final @Nullable Duration grace;
    private Deadline end = Deadline.NEVER;

    /**
     * Creates it.
     *
     * @param grace how long; null for no bound
     */
    WatchGrace(@Nullable Duration grace) {
        this.grace = grace;
    }

    synchronized void works() {
        end = Deadline.NEVER;
    }

    synchronized void fails() {
        if (grace != null && end.equals(Deadline.NEVER)) {
            end = Deadline.after(System.nanoTime(), grace);
        }
    }

    synchronized boolean isOver() {
        return end.isPast(System.nanoTime());
    }

    @Override
    public String toString() {
        return "'grace', " + grace;
    }
}
