package io.github.distributedsemaphore.internal;

import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Daemon threads, so that a process that forgets to close its client still exits: one that only keeps time, as many
 * workers as there are tasks that block at the same moment, and one that writes the log.
 */
final class RealEnvironment implements Environment {
    private static final Logger LOG = LoggerFactory.getLogger(RealEnvironment.class);
    private static final AtomicInteger CLIENTS = new AtomicInteger();
    private static final long NANOS_UNTIL_RETRY = TimeUnit.MILLISECONDS.toNanos(200);

    /** So many lines wait for the log, more than a client writes that loses all it has. The next ones are counted. */
    static final int MOST_LINES = 20_000;

    /** The end of a client waits so long for its last lines. */
    private static final long NANOS_FOR_LAST_LINES = TimeUnit.MILLISECONDS.toNanos(200);

    private final ScheduledThreadPoolExecutor timer;
    private final ThreadFactory workerThreads;
    private final ExecutorService workers;

    private final ThreadPoolExecutor log;
    private final AtomicInteger linesLeftOut = new AtomicInteger();

    private final @Nullable Executor callbacks;

    RealEnvironment(@Nullable Executor callbacks) {
        this(callbacks, RealEnvironment::daemons);
    }

    /** Takes what makes threads by the beginning of their names. */
    RealEnvironment(@Nullable Executor callbacks, Function<String, ThreadFactory> threads) {
        this.callbacks = callbacks;
        String client = "semaphore-" + CLIENTS.incrementAndGet();
        timer = new ScheduledThreadPoolExecutor(1, threads.apply(client + "-timer"));
        // Made now, so that a machine that runs out of threads later still has the one that tries again.
        timer.prestartCoreThread();
        timer.setRemoveOnCancelPolicy(true);
        timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        workerThreads = threads.apply(client + "-worker");
        workers = Executors.newCachedThreadPool(workerThreads);
        // One thread, or a log that stands still would take one for each line.
        log = new ThreadPoolExecutor(
                1,
                1,
                1,
                TimeUnit.MINUTES,
                new LinkedBlockingQueue<>(MOST_LINES),
                threads.apply(client + "-log"),
                (line, pool) -> linesLeftOut.incrementAndGet());
        log.allowCoreThreadTimeOut(true);
    }

    private static ThreadFactory daemons(String prefix) {
        AtomicInteger count = new AtomicInteger();
        return task -> {
            // The thread outlives the call that needs it first, and keeps nothing of its caller alive: no
            // inherited thread-locals, and the class loader of the library instead of the caller's.
            Thread thread = new Thread(null, task, prefix + "-" + count.incrementAndGet(), 0, false);
            thread.setContextClassLoader(RealEnvironment.class.getClassLoader());
            thread.setDaemon(true);
            return thread;
        };
    }

    @Override
    public long nanoTime() {
        return System.nanoTime();
    }

    @Override
    public void execute(Runnable task) {
        try {
            workers.execute(() -> runLogged(task));
        } catch (RejectedExecutionException e) {
            LOG.trace("The client is closed, a thread is made for its last task", e);
            workerThreads.newThread(() -> runLogged(task)).start();
        } catch (OutOfMemoryError e) {
            retryLater(task, e);
        }
    }

    /** The machine has no thread left. A task that is dropped could leave its semaphore blocked, so it is tried again. */
    private void retryLater(Runnable task, OutOfMemoryError noThread) {
        schedule(task, NANOS_UNTIL_RETRY);
        log(() -> LOG.error("No thread can be made for a task of the semaphore client, trying again", noThread));
    }

    @Override
    public void log(Runnable line) {
        try {
            log.execute(() -> runLogged(() -> write(line)));
        } catch (OutOfMemoryError e) {
            // No thread can be made. What the line tells of goes on without it.
            linesLeftOut.incrementAndGet();
        }
    }

    private void write(Runnable line) {
        int missing = linesLeftOut.getAndSet(0);
        if (missing > 0) {
            LOG.warn("The log was too slow: {} lines of the semaphore client are missing", missing);
        }
        line.run();
    }

    @Override
    public void callBack(Runnable code) {
        if (callbacks == null) {
            code.run();
            return;
        }
        Runnable once = once(code);
        try {
            callbacks.execute(() -> runLogged(once));
        } catch (RejectedExecutionException e) {
            log(() -> LOG.debug("The executor for callbacks refuses one, it runs on a thread of the client", e));
            once.run();
        } catch (Throwable e) {
            // A pool that cannot start a thread throws an Error. Without its callback a granted permit would have no
            // owner.
            log(() -> LOG.warn("The executor for callbacks failed, the callback runs on a thread of the client", e));
            once.run();
        }
    }

    /** A pool may fail after it has taken a task, and run that task later. A second run would release a permit that was delivered. */
    private static Runnable once(Runnable code) {
        AtomicBoolean begun = new AtomicBoolean();
        return () -> {
            if (begun.compareAndSet(false, true)) {
                code.run();
            }
        };
    }

    private static void runLogged(Runnable task) {
        try {
            task.run();
        } catch (Throwable e) {
            LOG.error("A task of the semaphore client failed", e);
        }
    }

    @Override
    public Timer schedule(Runnable task, long delayNanos) {
        try {
            Future<?> future = timer.schedule(() -> execute(task), delayNanos, TimeUnit.NANOSECONDS);
            return () -> future.cancel(false);
        } catch (RejectedExecutionException e) {
            LOG.trace("Timer dropped, the client is closed", e);
            return () -> {};
        }
    }

    @Override
    public void park(Object blocker, long nanos) {
        if (nanos == Long.MAX_VALUE) {
            LockSupport.park(blocker);
        } else {
            LockSupport.parkNanos(blocker, nanos);
        }
    }

    @Override
    public void unpark(Thread thread) {
        // Nobody parks before looking once more: a thread that wakes itself would only wake up in vain later.
        if (thread != Thread.currentThread()) {
            LockSupport.unpark(thread);
        }
    }

    @Override
    public long random(long bound) {
        return ThreadLocalRandom.current().nextLong(bound);
    }

    @Override
    public void close() {
        timer.shutdownNow();
        // Not shutdownNow: a worker may be in user code, such as a loss listener, which is not ours to interrupt.
        workers.shutdown();
        log.shutdown();
        try {
            // Else a process that ends now ends without them.
            boolean unused = log.awaitTermination(NANOS_FOR_LAST_LINES, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
