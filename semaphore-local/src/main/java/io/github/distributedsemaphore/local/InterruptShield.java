package io.github.distributedsemaphore.local;

import java.util.concurrent.locks.LockSupport;

/**
 * Keeps interrupts away from file work and hands them back at the end, so that none is lost and none breaks the work off:
 * an interrupted thread closes the channel it works on, and a closed channel is a lost lock. For one thread.
 */
final class InterruptShield implements AutoCloseable {
    private boolean interrupted = Thread.interrupted();

    /** Takes an interrupt that has arrived meanwhile. */
    void absorb() {
        interrupted |= Thread.interrupted();
    }

    /** Sleeps so many nanoseconds or less. */
    void pause(long nanos) {
        LockSupport.parkNanos(this, nanos);
        absorb();
    }

    @Override
    public void close() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
