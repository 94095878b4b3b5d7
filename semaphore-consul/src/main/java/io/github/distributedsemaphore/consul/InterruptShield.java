package io.github.distributedsemaphore.consul;

import java.util.concurrent.locks.LockSupport;

/**
 * Keeps interrupts away from a conversation with the server and hands them back at its end: broken off in the middle, its
 * outcome would be unknown. For one thread.
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
