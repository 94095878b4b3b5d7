package io.github.distributedsemaphore.tck;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A thread of a test whose end and whose failure cannot be overlooked: after the test each task must have ended, and a
 * failure that the test did not ask for fails the test. Thread-safe.
 *
 * @param <T> what it returns
 */
public final class Task<T> {
    private final String what;
    private final Duration patience;
    private final CountDownLatch done = new CountDownLatch(1);
    private final Thread thread;
    private volatile @Nullable T result;
    private volatile @Nullable Throwable failure;
    private volatile boolean failureSeen;
    private volatile long endedAt;

    Task(String what, Duration patience, Callable<T> body) {
        this.what = what;
        this.patience = patience;
        this.thread = new Thread(() -> run(body), "tck-task " + what);
        thread.setDaemon(true);
        thread.start();
    }

    private void run(Callable<T> body) {
        try {
            result = body.call();
        } catch (Throwable e) {
            failure = e;
        } finally {
            endedAt = System.nanoTime();
            done.countDown();
        }
    }

    /**
     * Waits for the end of the task.
     *
     * @return what it returned
     * @throws AssertionError if it failed, or does not end
     */
    @SuppressWarnings("NullAway") // what the body returned, whatever it was
    public T result() {
        awaitEnd();
        Throwable thrown = failure;
        failureSeen = true;
        if (thrown != null) {
            throw new AssertionError("task '" + what + "' failed: " + thrown, thrown);
        }
        return result;
    }

    /**
     * Waits for the end of a task that must fail.
     *
     * @param type with which exception
     * @param <X> with which exception
     * @return the exception
     * @throws AssertionError if it did not fail, failed otherwise, or does not end
     */
    public <X extends Throwable> X failure(Class<X> type) {
        awaitEnd();
        Throwable thrown = failure;
        failureSeen = true;
        if (thrown == null) {
            throw new AssertionError(
                    "task '" + what + "' returned " + result + " where it must fail with " + type.getSimpleName());
        }
        if (!type.isInstance(thrown)) {
            throw new AssertionError(
                    "task '" + what + "' failed with " + thrown + " where it must be " + type.getSimpleName(), thrown);
        }
        return type.cast(thrown);
    }

    /**
     * Tells whether the task has ended.
     *
     * @return true if it has
     */
    public boolean isDone() {
        return done.getCount() == 0;
    }

    /** Interrupts the thread of the task. */
    public void interrupt() {
        thread.interrupt();
    }

    /**
     * Returns the thread of the task.
     *
     * @return the thread
     */
    public Thread thread() {
        return thread;
    }

    /**
     * Returns when the task ended.
     *
     * @return on the scale of {@link System#nanoTime}
     */
    public long endedAt() {
        awaitEnd();
        return endedAt;
    }

    /**
     * Waits until the thread of the task seems to wait for something: several looks in a row found it parked.
     *
     * @throws AssertionError if it ends before, or does not come to wait
     */
    public void awaitBlocked() {
        long start = System.nanoTime();
        int parked = 0;
        while (parked < 5) {
            if (isDone()) {
                throw new AssertionError("task '" + what + "' ended where it must wait", failure);
            }
            Thread.State state = thread.getState();
            parked = state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING ? parked + 1 : 0;
            if (System.nanoTime() - start > patience.toNanos()) {
                throw new AssertionError("task '" + what + "' does not come to wait; it is " + state);
            }
            Pause.millis(2);
        }
    }

    private void awaitEnd() {
        try {
            if (!done.await(patience.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new AssertionError(
                        "task '" + what + "' has not ended within " + patience + "\n" + ThreadDump.all());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while waiting for task '" + what + "'", e);
        }
    }

    /** Sees to it that the task has ended and that no failure stays unseen. */
    void finish(boolean impatient) {
        AssertionError hang = null;
        if (!impatient) {
            try {
                awaitEnd();
            } catch (AssertionError e) {
                hang = e;
            }
        }
        if (!isDone()) {
            thread.interrupt();
            Pause.join(thread, patience);
        }
        if (hang != null) {
            throw hang;
        }
        Throwable thrown = failure;
        if (!impatient && thrown != null && !failureSeen) {
            throw new AssertionError("task '" + what + "' failed and nobody asked for it: " + thrown, thrown);
        }
    }
}
