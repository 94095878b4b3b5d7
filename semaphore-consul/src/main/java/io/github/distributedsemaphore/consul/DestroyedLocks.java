package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.Deadline;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes the coordination key of a destroyed semaphore when its last holder is gone. A holder that releases does that itself;
 * one that dies cannot, so the client that destroyed the semaphore watches on a thread of its own until then, or until it is
 * closed. Beyond that, the next client that comes across such a key deletes it. Thread-safe.
 */
final class DestroyedLocks implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DestroyedLocks.class);
    private static final long PAUSE_NANOS = 1_000_000_000;

    private final ConsulHttp operations;
    private final ConsulHttp watches;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Set<String> watched = new HashSet<>();
    private boolean closed;

    DestroyedLocks(ConsulHttp operations, ConsulHttp watches) {
        this.operations = operations;
        this.watches = watches;
    }

    /** Whether a view shows the key of a destroyed semaphore that nobody holds any more. */
    static boolean isDeserted(PrefixView view) {
        LockBody body = view.lock();
        return !view.exists()
                && body != null
                && body.destroyed()
                && view.liveHolders().isEmpty();
    }

    /** Deletes such a key; if that fails, the next client that comes across it will. */
    static void clear(PrefixView view, ConsulHttp http, Deadline end) {
        if (isDeserted(view)) {
            Transaction delete = new Transaction().delete(view.key(KeyNames.LOCK), view.lockIndex());
            LOG.debug("Key {} of a destroyed semaphore: {}", view.key(KeyNames.LOCK), delete.send(http, end));
        }
    }

    /** Watches a semaphore that was destroyed while it was held. */
    void watch(PrefixReader reader) {
        lock.lock();
        try {
            if (!closed && !watched.contains(reader.prefix())) {
                Thread thread = new Thread(() -> run(reader), "semaphore-consul-destroyed " + reader.prefix());
                thread.setDaemon(true);
                thread.start();
                watched.add(reader.prefix());
            }
        } finally {
            lock.unlock();
        }
    }

    private void run(PrefixReader reader) {
        try {
            clearWhenDeserted(reader);
        } finally {
            lock.lock();
            try {
                watched.remove(reader.prefix());
            } finally {
                lock.unlock();
            }
        }
    }

    private void clearWhenDeserted(PrefixReader reader) {
        long index = 0;
        while (!isClosed()) {
            try {
                ConsulHttp.Reply reply = watches.get(
                        watches.waitingCall(),
                        PrefixReader.listing(reader.prefix()),
                        "recurse",
                        "index=" + index,
                        "wait=" + PrefixWatcher.WAIT_SECONDS + "s");
                PrefixView view = reply.isOk() ? reader.parse(reply.body()) : reader.read(operations.end());
                LockBody body = view.lock();
                if (view.exists() || body == null || !body.destroyed()) {
                    return;
                }
                // The next round shows whether that worked.
                clear(view, operations, operations.end());
                index = reply.index() < index ? 0 : reply.index();
            } catch (NoReplyException | RuntimeException e) {
                // Whatever it is: nobody else goes on with it.
                LOG.debug("Watching {} failed, trying again", reader.prefix(), e);
                index = 0;
                pause();
            }
        }
    }

    private boolean isClosed() {
        lock.lock();
        try {
            return closed;
        } finally {
            lock.unlock();
        }
    }

    private void pause() {
        lock.lock();
        try {
            long left = PAUSE_NANOS;
            while (!closed && left > 0) {
                left = changed.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            LOG.debug("Somebody interrupted the watch over destroyed semaphores, which goes on");
        } finally {
            lock.unlock();
        }
    }

    /** Ends the watches, as soon as the client for them is closed too. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
