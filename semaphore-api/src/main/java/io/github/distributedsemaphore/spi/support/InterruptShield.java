package io.github.distributedsemaphore.spi.support;

import java.util.concurrent.locks.LockSupport;

/**
 * Keeps interrupts away from work that must not be broken off, and hands them back at its end, for an adapter whose calls
 * neither give up because of an interrupt nor swallow it (see {@link io.github.distributedsemaphore.spi.BackendSession}). An interrupted thread closes the file
 * channel that it works on, and in a virtual thread the socket; a request that is broken off has an unknown outcome.
 *
 * <p>For use in a {@code try} statement, by one thread:
 *
 * <pre>{@code
 * try (InterruptShield shield = new InterruptShield()) {
 *     while (!tryIt()) {
 *         shield.pause(1_000_000);
 *     }
 * }
 * }</pre>
 *
 * <p>Clears the thread's interrupt flag when it is made and whenever it is told to look, and sets it again when it is closed
 * if it ever found it set. Shields can be nested.
 */
public final class InterruptShield implements AutoCloseable {
    private boolean interrupted = Thread.interrupted();

    /** Starts to keep interrupts away from the calling thread: takes one that is there already. */
    public InterruptShield() {}

    /** Takes an interrupt that has arrived meanwhile. */
    public void absorb() {
        interrupted |= Thread.interrupted();
    }

    /**
     * Takes an interrupt that a call has told by an exception, which has cleared the thread's flag.
     *
     * @param caught the exception
     */
    public void absorb(InterruptedException caught) {
        interrupted = true;
    }

    /**
     * Sleeps, and takes an interrupt that ends the sleep.
     *
     * @param nanos for so many nanoseconds, or less; returns at once if not positive
     */
    public void pause(long nanos) {
        LockSupport.parkNanos(this, nanos);
        absorb();
    }

    /** Sets the thread's interrupt flag if an interrupt was taken. */
    @Override
    public void close() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
