package io.github.distributedsemaphore.spi.support;

import io.github.distributedsemaphore.Deadline;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Threads for what the calling thread must not do itself. A virtual thread that is interrupted closes the socket that it reads from, and
 * the request has an unknown outcome then ({@link java.net.Socket#getInputStream} says so since Java 21). An {@link InterruptShield} takes
 * only the interrupts from before the request.
 */
public final class PlatformThreads {
    private static final long IDLE_SECONDS = 1;
    private static final @Nullable MethodHandle IS_VIRTUAL = isVirtual();

    /**
     * Something that may fail.
     *
     * @param <T> the result
     * @param <X> how it fails
     */
    @FunctionalInterface
    public interface Work<T extends @Nullable Object, X extends Exception> {
        /**
         * Does it.
         *
         * @return the result
         * @throws X if it fails
         */
        T call() throws X;
    }

    private PlatformThreads() {}

    /** Virtual threads came with Java 21. */
    private static @Nullable MethodHandle isVirtual() {
        try {
            return MethodHandles.publicLookup()
                    .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    private static boolean isVirtual(Thread thread) {
        try {
            return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(thread);
        } catch (Throwable e) {
            throw new IllegalStateException("a thread does not say whether it is virtual", e);
        }
    }

    /**
     * Makes an executor that has as many threads as there are tasks. They end by themselves after a second without work, so it is not
     * closed: one that hangs in a driver could not be ended anyway.
     *
     * @param threads makes daemons
     * @return the executor; thread-safe
     */
    public static Executor asMany(ThreadFactory threads) {
        return new ThreadPoolExecutor(
                0, Integer.MAX_VALUE, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(), threads);
    }

    /**
     * Runs a task on an executor, or on the calling thread if the machine has no thread left: what the task has to end or to give back is not
     * forgotten then.
     *
     * @param platform runs it
     * @param task what to do
     */
    public static void execute(Executor platform, FutureTask<?> task) {
        try {
            platform.execute(task);
        } catch (RuntimeException | OutOfMemoryError e) {
            task.run();
        }
    }

    /**
     * Does something that an interrupt must not break off: on the calling thread, or, if that is virtual, on another one. The caller waits
     * for its end then. An interrupt does not end that wait, and is there afterwards.
     *
     * @param platform runs it on a platform thread
     * @param work what to do; it ends by itself
     * @param <T> what it returns
     * @param <X> what it throws
     * @return what it returned
     * @throws X if it fails
     */
    public static <T extends @Nullable Object, X extends Exception> T call(Executor platform, Work<T, X> work)
            throws X {
        if (!isVirtual(Thread.currentThread())) {
            return work.call();
        }
        FutureTask<T> task = new FutureTask<>(work::call);
        execute(platform, task);
        try {
            return InterruptShield.await(task, Deadline.NEVER);
        } catch (ExecutionException e) {
            Throwable cause = Objects.requireNonNull(e.getCause());
            if (cause instanceof Error error) {
                throw error;
            } else if (cause instanceof RuntimeException failure) {
                throw failure;
            }
            @SuppressWarnings("unchecked") // the work throws nothing else
            X failure = (X) cause;
            throw failure;
        } catch (TimeoutException e) {
            throw new IllegalStateException("a wait without end has ended", e);
        }
    }
}
