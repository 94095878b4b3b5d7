package io.github.distributedsemaphore.cli.run;

import io.github.distributedsemaphore.cli.common.Terminal;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * A line on a terminal that says what {@code semaphore run} waits for: it comes after a second, is renewed now and then, and
 * goes when the wait is over. A terminal that takes nothing, as after Ctrl-S, holds up nothing but the line. Thread-safe.
 */
final class WaitLine implements AutoCloseable {
    private static final Duration FIRST = Duration.ofSeconds(1);
    private static final Duration REFRESH = Duration.ofSeconds(5);

    /** For a terminal to take a line: it takes much less unless it is stopped. */
    private static final Duration PATIENCE = Duration.ofSeconds(1);

    private final PrintWriter err;
    private final Supplier<String> text;

    /** Held by the two threads of this class alone, because it is held while they write. */
    private final ReentrantLock lock = new ReentrantLock();

    private final Condition ended = lock.newCondition();
    private boolean shown;
    private volatile boolean closed;

    /** Set when the line is being erased, or when it is too late for that: the terminal may show a line of the command by then. */
    private final AtomicBoolean settled = new AtomicBoolean();

    /**
     * Starts it.
     *
     * @param err the terminal
     * @param text looks what to show; may block, and is called on a thread of its own
     */
    WaitLine(PrintWriter err, Supplier<String> text) {
        this.err = err;
        this.text = text;
        Thread unused = started(this::run, "semaphore-wait-line");
    }

    private static Thread started(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private void run() {
        Duration pause = FIRST;
        try {
            while (!endsWithin(pause)) {
                show(text.get());
                pause = REFRESH;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean endsWithin(Duration pause) throws InterruptedException {
        lock.lock();
        try {
            long left = pause.toNanos();
            while (!closed && left > 0) {
                left = ended.awaitNanos(left);
            }
            return closed;
        } finally {
            lock.unlock();
        }
    }

    private void show(String line) {
        lock.lock();
        try {
            if (!closed) {
                Terminal.replaceLine(err, line);
                shown = true;
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Removes the line. Waits for no look that is under way, and not for long for a terminal that is stopped: what it takes too late
     * stays.
     */
    @Override
    public void close() {
        closed = true;
        Thread eraser = started(this::erase, "semaphore-wait-line-end");
        boolean wasInterrupted = Thread.interrupted();
        try {
            eraser.join(PATIENCE.toMillis());
        } catch (InterruptedException e) {
            wasInterrupted = true;
        }
        settled.set(true);
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void erase() {
        try {
            if (!lock.tryLock(PATIENCE.toNanos(), TimeUnit.NANOSECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        }
        try {
            if (shown && settled.compareAndSet(false, true)) {
                Terminal.replaceLine(err, "");
            }
            ended.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
