package io.github.distributedsemaphore.spi.support;

import io.github.distributedsemaphore.Deadline;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

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
 * <p>Clears the thread's interrupt flag when it is made and at each {@link #absorb}, and sets it again when it is closed
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
     * Takes an interrupt that a call has reported by an exception, which has cleared the thread's flag.
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

    /**
     * Waits for an answer that arrives on another thread. An interrupt does not end the wait, and is there afterwards.
     *
     * @param answer the answer
     * @param end when to give up
     * @param <T> what the answer is
     * @return the answer
     * @throws ExecutionException if the answer is a failure
     * @throws TimeoutException if there is none by the deadline
     */
    public static <T extends @Nullable Object> T await(Future<T> answer, Deadline end)
            throws ExecutionException, TimeoutException {
        try (InterruptShield shield = new InterruptShield()) {
            while (true) {
                try {
                    return answer.get(end.nanosFrom(System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    shield.absorb(e);
                }
            }
        }
    }

    /**
     * Waits until a lock is held, a permit taken, a latch open. An interrupt does not end the wait, and is there afterwards.
     *
     * @param wait what to wait for
     * @param end when to give up
     * @return true if the wait succeeded, false if the deadline passed
     */
    public static boolean await(Wait wait, Deadline end) {
        try (InterruptShield shield = new InterruptShield()) {
            while (true) {
                try {
                    return wait.await(end.nanosFrom(System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    shield.absorb(e);
                }
            }
        }
    }

    /** A wait such as {@code lock::tryLock}, {@code semaphore::tryAcquire} or {@code latch::await}. */
    @FunctionalInterface
    public interface Wait {
        /**
         * Waits.
         *
         * @param time the longest; zero or less does not wait
         * @param unit of the time
         * @return true if the wait succeeded, false if its time passed
         * @throws InterruptedException if the thread is interrupted
         */
        boolean await(long time, TimeUnit unit) throws InterruptedException;
    }

    /** Sets the thread's interrupt flag if an interrupt was taken. */
    @Override
    public void close() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
