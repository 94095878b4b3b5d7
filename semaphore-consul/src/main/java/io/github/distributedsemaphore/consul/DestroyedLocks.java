package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.Deadline;
import java.util.HashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes the coordination key of a destroyed semaphore when its last holder is gone. A holder that releases does that itself;
 * one that dies cannot, so the client that destroyed the semaphore follows its prefix until then, or until it is closed. Beyond
 * that, the next client that comes across such a key deletes it. Thread-safe.
 */
final class DestroyedLocks implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DestroyedLocks.class);

    private final ConsulHttp operations;
    private final ConsulHttp watches;
    private final Map<String, PrefixFollower> followers = new HashMap<>();
    private boolean closed;

    DestroyedLocks(ConsulHttp operations, ConsulHttp watches) {
        this.operations = operations;
        this.watches = watches;
    }

    /** Whether a view shows the key of a destroyed semaphore that nobody holds any more. */
    static boolean isDeserted(PrefixView view) {
        return isDestroyed(view) && view.liveHolders().isEmpty();
    }

    private static boolean isDestroyed(PrefixView view) {
        LockBody body = view.lock();
        return !view.exists() && body != null && body.destroyed();
    }

    /** Deletes such a key; if that fails, the next client that comes across it will. */
    static void clear(PrefixView view, ConsulHttp http, Deadline end) {
        if (isDeserted(view)) {
            Transaction delete = new Transaction().delete(view.key(KeyNames.LOCK), view.lockIndex());
            LOG.debug("Key {} of a destroyed semaphore: {}", view.key(KeyNames.LOCK), delete.send(http, end));
        }
    }

    /** Watches a semaphore that was destroyed while it was held. */
    synchronized void watch(PrefixReader reader) {
        if (!closed) {
            followers
                    .computeIfAbsent(
                            reader.prefix(),
                            prefix -> new PrefixFollower(
                                    watches, prefix, "semaphore-consul-destroyed " + prefix, new Cleaner(reader)))
                    .wake();
        }
    }

    private synchronized void done(String prefix) {
        PrefixFollower follower = followers.remove(prefix);
        if (follower != null) {
            follower.stop();
        }
    }

    private final class Cleaner implements PrefixFollower.Follower {
        private final PrefixReader reader;

        Cleaner(PrefixReader reader) {
            this.reader = reader;
        }

        @Override
        public boolean isNeeded() {
            return true;
        }

        @Override
        public void look(ConsulHttp.Reply reply, boolean changed) {
            PrefixView view = reply.isOk() ? reader.parse(reply.body()) : reader.read(operations.end());
            if (isDestroyed(view)) {
                // The next look shows whether that worked.
                clear(view, operations, operations.end());
            } else {
                done(reader.prefix());
            }
        }

        @Override
        public long pauseNanos() {
            return 0;
        }

        @Override
        public void failed() {}
    }

    /** Ends the watches. */
    @Override
    public synchronized void close() {
        closed = true;
        followers.values().forEach(PrefixFollower::stop);
        followers.clear();
    }
}
