package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.consul.net.ConsulHttp;
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
    private final Map<String, Cleaner> cleaners = new HashMap<>();
    private boolean closed;

    DestroyedLocks(ConsulHttp operations, ConsulHttp watches) {
        this.operations = operations;
        this.watches = watches;
    }

    /** Whether a view shows the key of a destroyed semaphore that nobody holds any more. */
    static boolean isDeserted(PrefixView view) {
        return isDestroyed(view) && view.liveHolders().isEmpty();
    }

    static boolean isDestroyed(PrefixView view) {
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
            Cleaner cleaner = new Cleaner(reader);
            Cleaner earlier = cleaners.put(reader.prefix(), cleaner);
            if (earlier != null) {
                // It may have seen what was there before this destruction, and be about to end.
                earlier.follower.stop();
            }
            cleaner.follower.wake();
        }
    }

    private synchronized void done(Cleaner cleaner) {
        cleaners.remove(cleaner.reader.prefix(), cleaner);
        cleaner.follower.stop();
    }

    private final class Cleaner implements PrefixFollower.Follower {
        private final PrefixReader reader;
        private final PrefixFollower follower;

        Cleaner(PrefixReader reader) {
            this.reader = reader;
            String thread = "semaphore-consul-destroyed " + reader.prefix();
            this.follower = new PrefixFollower(watches, reader.prefix(), thread, this);
        }

        @Override
        public void look(ConsulHttp.Reply reply, boolean changed) {
            PrefixView view;
            try {
                view = reply.isOk() ? reader.parse(reply.body()) : reader.read(operations.end());
            } catch (IncompatibleStateException e) {
                LOG.debug("What a destroyed semaphore left below {} is somebody else's now", reader.prefix(), e);
                done(this);
                return;
            }
            if (isDestroyed(view)) {
                // The next look shows whether that worked.
                clear(view, operations, operations.end());
            } else {
                done(this);
            }
        }
    }

    /** Ends the watches. */
    @Override
    public synchronized void close() {
        closed = true;
        cleaners.values().forEach(cleaner -> cleaner.follower.stop());
        cleaners.clear();
    }
}
