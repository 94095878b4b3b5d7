package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The engine's only way to time, threads and chance, so that a simulation or the test double can supply all three. Thread-safe.
 */
public interface Environment {
    /**
     * Tells the time.
     *
     * @return monotonic, in nanoseconds, on the scale of {@link System#nanoTime} in a real environment
     */
    long nanoTime();

    /**
     * Runs a task soon on another thread. Also after {@link #close}: somebody may wait for what it does.
     *
     * @param task may block
     */
    void execute(Runnable task);

    /**
     * Writes a line of the log soon on another thread; in the real environment after those that came before. A log may stand still, and
     * neither who waits for this thread is to wait for it, nor the next renewal. Bugs of this library are logged at once.
     *
     * @param line writes it; may block
     */
    default void log(Runnable line) {
        execute(line);
    }

    /**
     * Runs the application's code: on its executor if it gave one, else on this thread.
     *
     * @param code may block; this thread must be one of {@link #execute} that nothing else depends on
     */
    default void callBack(Runnable code) {
        code.run();
    }

    /**
     * Runs a task as {@link #execute} does, after a delay. Dropped after {@link #close}.
     *
     * @param task may block
     * @param delayNanos the shortest delay in nanoseconds
     * @return cancels it
     */
    Timer schedule(Runnable task, long delayNanos);

    /**
     * Blocks the thread until {@link #unpark}, an interrupt, the end of the time, or for no reason.
     *
     * @param blocker what it waits for, for people who look at threads
     * @param nanos the longest in nanoseconds; {@link Long#MAX_VALUE} has no end
     */
    void park(Object blocker, long nanos);

    /**
     * Parks until something is true. An interrupt is kept for the caller.
     *
     * @param blocker as for {@link #park}
     * @param over whether it is true; the thread that makes it true unparks this one afterwards
     */
    default void awaitUninterruptibly(Object blocker, BooleanSupplier over) {
        boolean interrupted = false;
        while (!over.getAsBoolean()) {
            park(blocker, Long.MAX_VALUE);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Wakes a thread, or has its next {@link #park} return at once.
     *
     * @param thread the thread; the calling thread itself may be left alone
     */
    void unpark(Thread thread);

    /**
     * Draws a number.
     *
     * @param bound more than 0
     * @return from 0 up to but not including the bound
     */
    long random(long bound);

    /** A place where another thread may come between; simulations switch threads here. */
    default void checkpoint() {}

    /** Stops its threads. Idempotent. */
    void close();

    /**
     * Returns the environment for a client of a backend.
     *
     * @param backend the backend
     * @param callbacks runs the application's code in the real environment; null for threads of the client
     * @return that of the backend if it brings one, else the real one
     */
    static Environment of(SemaphoreBackend backend, @Nullable Executor callbacks) {
        return backend instanceof Source source ? source.environment() : new RealEnvironment(callbacks);
    }

    /** A task that has been scheduled. */
    @FunctionalInterface
    interface Timer {
        /** Does nothing if the task has begun. */
        void cancel();
    }

    /** A backend that brings time, threads and chance for each of its clients. */
    @FunctionalInterface
    interface Source {
        /**
         * Makes those of one client.
         *
         * @return to be closed by the client
         */
        Environment environment();
    }
}
