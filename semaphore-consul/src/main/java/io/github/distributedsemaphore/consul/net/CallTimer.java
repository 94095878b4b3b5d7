package io.github.distributedsemaphore.consul.net;

import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Aborts calls whose time is over. A socket's time-out bounds a single read, neither an answer that comes in drips nor a write
 * that nobody reads. A thread looks at all calls now and then, which costs a call less than a timer of its own; it ends when
 * there was no call for a while. Thread-safe.
 */
final class CallTimer implements AutoCloseable {
    static final String THREAD = "semaphore-consul-timer";

    private static final int LOOKS_WITHOUT_CALLS = 20;

    private final long lookNanos;
    private final Set<Call> calls = ConcurrentHashMap.newKeySet();
    private final AtomicReference<@Nullable Thread> thread = new AtomicReference<>();
    private volatile boolean closed;

    /**
     * Creates it.
     *
     * @param lookNanos how often to look, which is how late a call may be aborted
     */
    CallTimer(long lookNanos) {
        this.lookNanos = lookNanos;
    }

    /** Watches a call until it is removed. Aborts it at once if this is closed. */
    void add(Call call) {
        calls.add(call);
        if (closed) {
            call.abort();
        } else if (thread.get() == null) {
            start();
        }
    }

    void remove(Call call) {
        calls.remove(call);
    }

    private void start() {
        Thread made = new Thread(this::run, THREAD);
        made.setDaemon(true);
        if (thread.compareAndSet(null, made)) {
            boolean started = false;
            try {
                made.start();
                started = true;
            } finally {
                if (!started) {
                    thread.set(null);
                }
            }
        }
    }

    private void run() {
        int without = 0;
        try (InterruptShield shield = new InterruptShield()) {
            while (!closed && without < LOOKS_WITHOUT_CALLS) {
                shield.pause(lookNanos);
                without = calls.isEmpty() ? without + 1 : 0;
                long now = System.nanoTime();
                calls.stream().filter(call -> call.end().isPast(now)).forEach(Call::abort);
            }
        } finally {
            thread.set(null);
        }
        // A call that came just now has seen this thread, and has not started another one.
        if (!closed && !calls.isEmpty()) {
            start();
        }
    }

    /** Aborts all calls, and each that comes. */
    @Override
    public void close() {
        closed = true;
        calls.forEach(Call::abort);
        LockSupport.unpark(thread.get());
    }
}
