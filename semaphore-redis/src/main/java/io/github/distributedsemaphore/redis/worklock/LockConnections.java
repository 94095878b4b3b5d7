package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.redis.net.ServerSettings;
import java.util.concurrent.CountDownLatch;

/**
 * Makes connections, one for each look at a lock. A connection that only one thread ever uses, once, cannot have a watch
 * left over from before or a transaction of somebody else.
 *
 * <p>Thread-safe.
 */
final class LockConnections implements AutoCloseable {
    private final RedisConnections connections;
    private final CountDownLatch closed = new CountDownLatch(1);

    LockConnections(ServerSettings settings) {
        this.connections = new RedisConnections(settings, false);
    }

    /** Opens a connection; the caller closes it. */
    LockConnection open(String key) {
        refuseIfClosed(key);
        String what = "key '" + key + "' at " + endpoint();
        try {
            return new LockConnection(connections.open(key, callDeadline()), key, what);
        } catch (RuntimeException e) {
            // The client library says in several ways that it has been shut down.
            refuseIfClosed(key);
            throw e instanceof BackendUnavailableException
                    ? new BackendUnavailableException(what + ": " + e.getMessage() + "; nothing was changed", e)
                    : e;
        }
    }

    /** By when a call that starts now has to be over. */
    Deadline callDeadline() {
        return connections.callDeadline();
    }

    void refuseIfClosed(String key) {
        if (isClosed()) {
            throw new SemaphoreClosedException("key '" + key + "': the work lock was closed");
        }
    }

    /** For messages: no credentials. */
    String endpoint() {
        return connections.endpoint();
    }

    boolean isClosed() {
        return closed.getCount() == 0;
    }

    /** Comes down when this is closed. */
    CountDownLatch end() {
        return closed;
    }

    @Override
    public void close() {
        closed.countDown();
        connections.close();
    }
}
