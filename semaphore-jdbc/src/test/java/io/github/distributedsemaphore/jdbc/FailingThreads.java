package io.github.distributedsemaphore.jdbc;

import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Starts a thread for each task, but for one: then the machine has no more threads. That is an {@link OutOfMemoryError} in life, at which
 * JUnit would end the run.
 */
final class FailingThreads implements Executor {
    private final AtomicInteger left;

    /** The start of this number fails; the first has number 1. */
    FailingThreads(int failing) {
        this.left = new AtomicInteger(failing);
    }

    @Override
    public void execute(Runnable task) {
        if (left.decrementAndGet() == 0) {
            throw new InternalError("unable to create native thread (made by a test)");
        }
        Connections.daemon(task, "test").start();
    }
}
