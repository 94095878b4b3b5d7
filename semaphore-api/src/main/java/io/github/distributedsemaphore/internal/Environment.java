package io.github.distributedsemaphore.internal;

import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** The engine's only way to time, threads and chance, so that a simulation can supply all three. Thread-safe. */
interface Environment {
    /** Monotonic, in nanoseconds, on the scale of {@link System#nanoTime} in a real environment. */
    long nanoTime();

    /** Runs a task soon on another thread; the task may block. Also after {@link #close}: somebody may wait for what it does. */
    void execute(Runnable task);

    /**
     * Runs the application's code: on its executor if it gave one, else on this thread, which must be one of {@link #execute}
     * that nothing else depends on.
     */
    default void callBack(Runnable code) {
        code.run();
    }

    /** Runs a task as {@link #execute} does, not before a delay in nanoseconds. Dropped after {@link #close}. */
    Timer schedule(Runnable task, long delayNanos);

    /** Blocks the thread until {@link #unpark}, an interrupt, the time in nanoseconds, or for no reason. */
    void park(Object blocker, long nanos);

    void unpark(Thread thread);

    /** A number from 0 up to but not including a positive bound. */
    long random(long bound);

    /** A place where another thread may come between; simulations switch threads here. */
    default void checkpoint() {}

    /** Stops its threads. Idempotent. */
    void close();

    /** With an executor for the application's code, or without. */
    static Environment real(@Nullable Executor callbacks) {
        return new RealEnvironment(callbacks);
    }

    /** A task that has been scheduled. */
    @FunctionalInterface
    interface Timer {
        void cancel();
    }
}
