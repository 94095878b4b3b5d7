package io.github.distributedsemaphore.cli.run;

import io.github.distributedsemaphore.cli.common.Terminal;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * A line on a terminal that says what {@code semaphore run} waits for: it comes after a second, is renewed now and then, and
 * goes when the wait is over. Thread-safe.
 */
final class WaitLine implements AutoCloseable {
    private static final Duration FIRST = Duration.ofSeconds(1);
    private static final Duration REFRESH = Duration.ofSeconds(5);

    private final PrintWriter err;
    private final Supplier<String> text;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition ended = lock.newCondition();
    private boolean shown;
    private boolean closed;

    /**
     * Starts it.
     *
     * @param err the terminal
     * @param text looks what to show; may block, and is called on a thread of its own
     */
    WaitLine(PrintWriter err, Supplier<String> text) {
        this.err = err;
        this.text = text;
        Thread thread = new Thread(this::run, "semaphore-wait-line");
        thread.setDaemon(true);
        thread.start();
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

    /** Removes the line. Does not wait for a look that is under way. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            if (shown) {
                shown = false;
                Terminal.replaceLine(err, "");
            }
            ended.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
