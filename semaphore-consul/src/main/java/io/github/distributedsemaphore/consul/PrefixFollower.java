package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.consul.net.Call;
import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.consul.net.ConsulHttp.NoReplyException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Follows what is stored below a prefix by one blocking query after the other, on a thread of its own while that is needed and a
 * little longer. Thread-safe.
 */
final class PrefixFollower {
    private static final Logger LOG = LoggerFactory.getLogger(PrefixFollower.class);

    /** For how long the server keeps a query without news; it adds up to a sixteenth. */
    static final int WAIT_SECONDS = 10;

    /** For how long the thread stays when nobody needs it: slots come and go faster than threads should. */
    private static final long LINGER_NANOS = 1_000_000_000;

    /** A query that waits and finds nothing new takes longer. */
    private static final long AT_ONCE_NANOS = 1_000_000_000;

    private static final long BRAKE_NANOS = 100_000_000;
    private static final long FIRST_PAUSE_NANOS = 20_000_000;
    private static final long LONGEST_PAUSE_NANOS = 1_000_000_000;

    private final ConsulHttp watches;
    private final String prefix;
    private final String threadName;
    private final Follower follower;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private boolean running;
    /** Changed under the lock. */
    private volatile boolean stopped;

    private @Nullable Call call;

    /** What is done with the answers. */
    interface Follower {
        /** Whether another query is needed. Called often, also under a lock. */
        default boolean isNeeded() {
            return true;
        }

        /**
         * An answer, on the follower's thread. What it throws counts as a failure.
         *
         * @param changed whether anything may have changed since the last one
         */
        void look(ConsulHttp.Reply reply, boolean changed);

        /** How long to wait before the next query, unless {@link #wake} is called and this is zero then. */
        default long pauseNanos() {
            return 0;
        }

        /** A query or a look failed; it is tried again after a while. That no connection was free is no failure. */
        default void failed() {}

        /** Nobody needs it any more, so it does not follow until the next {@link #wake}. Called under a lock. */
        default void ended() {}
    }

    PrefixFollower(ConsulHttp watches, String prefix, String threadName, Follower follower) {
        this.watches = watches;
        this.prefix = prefix;
        this.threadName = threadName;
        this.follower = follower;
    }

    /** Starts to follow, or goes on with it; says that what is needed may have changed. */
    void wake() {
        lock.lock();
        try {
            changed.signalAll();
            if (!running && !stopped) {
                Thread thread = new Thread(this::run, threadName);
                thread.setDaemon(true);
                thread.start();
                running = true;
            }
        } finally {
            lock.unlock();
        }
    }

    /** Ends it for good, at once. */
    void stop() {
        lock.lock();
        try {
            stopped = true;
            if (call != null) {
                call.abort();
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void run() {
        try {
            follow();
        } catch (RuntimeException | Error e) {
            // Such as a lack of memory: the next call of wake starts it again.
            lock.lock();
            try {
                running = false;
            } finally {
                lock.unlock();
            }
            throw e;
        }
    }

    private void follow() {
        long index = 0;
        long pause = FIRST_PAUSE_NANOS;
        for (Call next = begin(); next != null; next = begin()) {
            try {
                long asked = System.nanoTime();
                ConsulHttp.Reply reply = query(next, index);
                boolean changed = reply.index() == 0 || reply.index() != index;
                // Something between may answer by itself, or drop the index: then a query does not wait.
                boolean atOnce = (!changed || reply.index() == 0) && System.nanoTime() - asked < AT_ONCE_NANOS;
                follower.look(reply, changed);
                // An index that has gone back belongs to another life of the server; the next query starts from the
                // beginning.
                index = reply.index() < index ? 0 : reply.index();
                pause = FIRST_PAUSE_NANOS;
                // Where nothing is stored every write elsewhere answers the query.
                pause(atOnce ? BRAKE_NANOS : reply.isOk() ? 0 : FIRST_PAUSE_NANOS, () -> false);
                pause(follower.pauseNanos(), () -> follower.pauseNanos() == 0);
            } catch (NoReplyException | RuntimeException e) {
                // Whatever it is, also of a hint: without this thread nobody would hear of anything any more.
                if (!stopped) {
                    LOG.debug("Following {} failed, trying again", prefix, e);
                    // That others have had all connections for long says nothing of the server.
                    if (next.hadConnection()) {
                        index = 0;
                        follower.failed();
                    }
                    pause(pause, () -> false);
                    pause = Math.min(LONGEST_PAUSE_NANOS, pause * 2);
                }
            }
        }
    }

    private ConsulHttp.Reply query(Call next, long index) throws NoReplyException {
        ConsulHttp.Reply reply = watches.get(
                next, PrefixReader.listing(prefix), "recurse", "index=" + index, "wait=" + WAIT_SECONDS + "s");
        if (!reply.isOk() && reply.status() != 404) {
            throw new BackendUnavailableException("Consul answered " + reply.text(), null);
        }
        return reply;
    }

    /** Prepares the next query; null if none is needed any more. */
    private @Nullable Call begin() {
        lock.lock();
        try {
            pause(LINGER_NANOS, follower::isNeeded);
            boolean goesOn = !stopped && follower.isNeeded();
            running = goesOn;
            if (!goesOn) {
                follower.ended();
            }
            call = goesOn ? watches.waitingCall() : null;
            return call;
        } finally {
            lock.unlock();
        }
    }

    private void pause(long nanos, BooleanSupplier end) {
        lock.lock();
        try {
            long left = nanos;
            while (!stopped && left > 0 && !end.getAsBoolean()) {
                left = changed.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            LOG.debug("Somebody interrupted the thread that follows {}, which goes on", prefix);
        } finally {
            lock.unlock();
        }
    }
}
