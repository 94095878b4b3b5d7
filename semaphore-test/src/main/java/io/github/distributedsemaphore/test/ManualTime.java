package io.github.distributedsemaphore.test;

import io.github.distributedsemaphore.internal.Environment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A clock that stands still until a test advances it, and the threads of all clients that go by it. The threads are real: only
 * time is not. {@link #advance} goes from one timer to the next and lets the clients do at each instant what is due then.
 * Thread-safe; the one monitor is its own.
 */
final class ManualTime {
    private static final Logger LOG = LoggerFactory.getLogger(ManualTime.class);

    /** A client does what is due in far less, unless a listener of the application blocks it. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** A thread of the application that was woken gets so long to come back to its wait, or to leave the library. */
    private static final long GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    /** On a busy machine that takes longer. A listener of the application that blocks there is not waited for without end. */
    private static final long GRACE_IN_LIBRARY_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final String ENGINE = "io.github.distributedsemaphore.internal.";

    private final ThreadLocal<Boolean> isWorker = ThreadLocal.withInitial(() -> false);
    private final PriorityQueue<Due> timers = new PriorityQueue<>();
    private final Map<Thread, Parked> parked = new HashMap<>();
    private final Set<Thread> woken = Collections.newSetFromMap(new WeakHashMap<>());
    /** Threads of the application that were woken and have not left their wait. The system says of those that they still wait. */
    private final Set<Thread> waking = new HashSet<>();

    /** When those that were woken left their wait, or were about to begin it, in nanoseconds of the system. */
    private final Map<Thread, Long> stirred = new HashMap<>();

    private final ExecutorService workers = Executors.newCachedThreadPool(ManualTime::daemon);
    private volatile long now = System.nanoTime();
    private long sequence;
    private int busy;

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(null, task, "semaphore-test-worker", 0, false);
        thread.setDaemon(true);
        return thread;
    }

    long nanoTime() {
        return now;
    }

    /** Lets time pass, and returns when the clients have done what was due on the way. */
    void advance(Duration time) {
        if (time.isNegative()) {
            throw new IllegalArgumentException("Time only goes forward: " + time + " is negative");
        }
        settle();
        long end = now + time.toNanos();
        while (step(end)) {
            settle();
        }
    }

    /** Goes to the next instant at which something is due; returns false if nothing is before the end. */
    private boolean step(long end) {
        List<Runnable> due = new ArrayList<>();
        synchronized (this) {
            long next = end;
            boolean found = false;
            if (!timers.isEmpty() && timers.element().at - next <= 0) {
                next = timers.element().at;
                found = true;
            }
            for (Parked sleeper : parked.values()) {
                if (!sleeper.forGood && sleeper.until - next <= 0) {
                    next = sleeper.until;
                    found = true;
                }
            }
            now = next - now > 0 ? next : now;
            while (!timers.isEmpty() && timers.element().at - now <= 0) {
                due.add(timers.remove().task);
            }
            List.copyOf(parked.values()).stream()
                    .filter(sleeper -> !sleeper.forGood && sleeper.until - now <= 0)
                    .forEach(sleeper -> wake(sleeper.thread));
            if (!found) {
                return false;
            }
        }
        due.forEach(this::execute);
        return true;
    }

    /** Returns when the clients have nothing to do before time passes. */
    void settle() {
        if (isWorker.get()) {
            throw new IllegalStateException("The clock is advanced by a thread of the test, not by a listener");
        }
        long start = System.nanoTime();
        boolean interrupted = false;
        synchronized (this) {
            while (busy > 0 || isAnyoneStirring()) {
                if (System.nanoTime() - start > PATIENCE_NANOS) {
                    throw new AssertionError("The clients have not come to rest within 10s: " + busy
                            + " of their threads are busy; does a listener of the test block?");
                }
                try {
                    wait(1);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            stirred.clear();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean isAnyoneStirring() {
        return !waking.isEmpty()
                || stirred.entrySet().stream()
                        .anyMatch(one -> isStirring(one.getKey(), System.nanoTime() - one.getValue()));
    }

    private static boolean isStirring(Thread thread, long sinceNanos) {
        if (thread == Thread.currentThread()) {
            return false;
        }
        return (sinceNanos < GRACE_NANOS && thread.getState() == Thread.State.RUNNABLE)
                || (sinceNanos < GRACE_IN_LIBRARY_NANOS && isInLibrary(thread));
    }

    /** Whether it does what a wake-up asked for, or waits for a processor or a lock to do it. */
    private static boolean isInLibrary(Thread thread) {
        return Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> frame.getClassName().startsWith(ENGINE));
    }

    private void execute(Runnable task) {
        synchronized (this) {
            busy++;
        }
        Runnable counted = () -> {
            isWorker.set(true);
            try {
                task.run();
            } catch (RuntimeException | Error e) {
                LOG.error("A task of the semaphore client failed", e);
            } finally {
                isWorker.set(false);
                synchronized (this) {
                    busy--;
                    notifyAll();
                }
            }
        };
        try {
            workers.execute(counted);
        } catch (RejectedExecutionException e) {
            LOG.trace("The clock is closed, a thread is made for the last task", e);
            daemon(counted).start();
        }
    }

    private void park(Object blocker, long nanos) {
        Thread thread = Thread.currentThread();
        synchronized (this) {
            if (woken.remove(thread) || nanos <= 0) {
                return;
            }
            boolean worker = isWorker.get();
            parked.put(thread, new Parked(thread, now + nanos, nanos == Long.MAX_VALUE, worker));
            stirred.remove(thread);
            busy -= worker ? 1 : 0;
            notifyAll();
        }
        try {
            LockSupport.park(blocker);
        } finally {
            synchronized (this) {
                Parked self = parked.remove(thread);
                busy += self != null && self.worker ? 1 : 0;
                if (waking.remove(thread)) {
                    stirred.put(thread, System.nanoTime());
                }
            }
        }
    }

    /** Counts a thread as busy from the moment it is woken. */
    private synchronized void wake(Thread thread) {
        Parked sleeper = parked.remove(thread);
        if (sleeper == null) {
            woken.add(thread);
            stirred.put(thread, System.nanoTime());
        } else if (sleeper.worker) {
            busy++;
        } else {
            waking.add(thread);
        }
        LockSupport.unpark(thread);
    }

    private synchronized Due add(long delayNanos, Runnable task) {
        Due timer = new Due(now + Math.max(0, delayNanos), sequence++, task);
        timers.add(timer);
        return timer;
    }

    private synchronized void remove(Due timer) {
        timers.remove(timer);
    }

    /** Ends the threads, but for those that are in a task. */
    void close() {
        workers.shutdown();
    }

    /** The time and the threads of one client. */
    Environment environment() {
        return new Environment() {
            private volatile boolean closed;

            @Override
            public long nanoTime() {
                return now;
            }

            @Override
            public void execute(Runnable task) {
                ManualTime.this.execute(task);
            }

            @Override
            public Timer schedule(Runnable task, long delayNanos) {
                if (closed) {
                    return () -> {};
                }
                Due timer = add(delayNanos, () -> {
                    if (!closed) {
                        task.run();
                    }
                });
                return () -> remove(timer);
            }

            @Override
            public void park(Object blocker, long nanos) {
                ManualTime.this.park(blocker, nanos);
            }

            @Override
            public void unpark(Thread thread) {
                if (thread != Thread.currentThread()) {
                    wake(thread);
                }
            }

            @Override
            public long random(long bound) {
                return bound / 2;
            }

            @Override
            public void close() {
                closed = true;
            }
        };
    }

    private record Parked(Thread thread, long until, boolean forGood, boolean worker) {}

    /** Compared by the difference, since the clock may overflow. */
    private record Due(long at, long sequence, Runnable task) implements Comparable<Due> {
        @Override
        public int compareTo(Due other) {
            long difference = at - other.at;
            return difference != 0 ? Long.signum(difference) : Long.compare(sequence, other.sequence);
        }
    }
}
