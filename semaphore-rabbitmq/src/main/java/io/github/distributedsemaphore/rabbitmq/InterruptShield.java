package io.github.distributedsemaphore.rabbitmq;

import java.util.concurrent.locks.LockSupport;

/**
 * Keeps interrupts away from network work and hands them back at the end, so that none is lost and none breaks the work
 * off: an interrupted virtual thread closes the socket it writes to, and that connection's permits are lost. For one thread.
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

    /** Somebody caught an interrupt that came meanwhile. */
    void interrupted() {
        interrupted = true;
    }

    @Override
    public void close() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
