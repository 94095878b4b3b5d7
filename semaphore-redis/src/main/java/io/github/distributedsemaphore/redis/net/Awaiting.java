package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.Deadline;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;

/** Waits that an interrupt neither ends nor is lost in. */
public final class Awaiting {
    private static final int MOST_DOUBLINGS = 6;

    private Awaiting() {}

    private interface Wait<T> {
        T await(long nanos) throws InterruptedException, ExecutionException, TimeoutException;
    }

    public static <T> T future(Future<T> future, Deadline deadline) throws ExecutionException, TimeoutException {
        return uninterrupted(nanos -> future.get(nanos, TimeUnit.NANOSECONDS), deadline);
    }

    /** Returns at that time. */
    public static void pause(Deadline until) {
        try {
            future(new CompletableFuture<>(), until);
        } catch (ExecutionException e) {
            throw new AssertionError(e);
        } catch (TimeoutException e) {
            return;
        }
    }

    /**
     * Waits before another attempt, so that many who fail because of each other come one after the other: for a random time, which
     * is at most as long as the attempt that failed, and at most twice as long with each failure before it.
     *
     * @param attemptNanos how long the failed attempt took
     * @param failures how many failed before it
     * @param deadline when it returns at the latest
     */
    public static void backOff(long attemptNanos, int failures, Deadline deadline) {
        long most = Math.max(0, attemptNanos) << Math.min(failures, MOST_DOUBLINGS);
        pause(Deadline.at(System.nanoTime() + ThreadLocalRandom.current().nextLong(most + 1))
                .earlier(deadline));
    }

    /** Returns whether the lock was free in time. */
    static boolean lock(ReentrantLock lock, Deadline deadline) {
        try {
            return lock.tryLock() || uninterrupted(nanos -> lock.tryLock(nanos, TimeUnit.NANOSECONDS), deadline);
        } catch (ExecutionException | TimeoutException e) {
            throw new AssertionError(e);
        }
    }

    /** Returns whether it was acquired in time. */
    public static boolean acquire(Semaphore semaphore, Deadline deadline) {
        try {
            return semaphore.tryAcquire()
                    || uninterrupted(nanos -> semaphore.tryAcquire(nanos, TimeUnit.NANOSECONDS), deadline);
        } catch (ExecutionException | TimeoutException e) {
            throw new AssertionError(e);
        }
    }

    private static <T> T uninterrupted(Wait<T> wait, Deadline deadline) throws ExecutionException, TimeoutException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return wait.await(deadline.nanosFrom(System.nanoTime()));
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
