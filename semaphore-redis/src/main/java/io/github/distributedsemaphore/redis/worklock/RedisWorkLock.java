package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.redis.net.RedisAddress;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.redis.net.ServerSettings;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A work lock: of all workers that hear of a job, on any number of hosts, one does it. If it dies, or does not finish within
 * the lock timeout, one of the others begins the next attempt, up to a maximum; and once a worker has recorded the end, none
 * begins again.
 *
 * <pre>{@code
 * try (RedisWorkLock lock = RedisWorkLock.builder("redis://localhost")
 *         .lockTimeout(Duration.ofSeconds(5))
 *         .maxAttempts(5)
 *         .build()) {
 *     WorkOutcome outcome = lock.run("send-mail-42", attempt -> {
 *         sendMail();
 *         attempt.done();
 *     });
 * }
 * }</pre>
 *
 * <p>A job is known by its key, so each job needs a key of its own. All workers of a job need the same lock timeout and
 * maximum. It is <em>not</em> mutual exclusion: nothing is renewed, so work that takes longer than the lock timeout can be
 * begun by a second worker, and it is done at least once, not exactly once, if a worker dies between the work and its
 * record. For mutual exclusion with a fence use {@link io.github.distributedsemaphore.DistributedSemaphore} with a limit of 1.
 *
 * <p>The protocol is that of "Redis Global Locks Redux" (code.flickr.net, 2012), as the Node package {@code redis-locking-worker}
 * has it: the same key and values, so that workers in Node and in Java can share a job. {@code docs/backends/redis-work-lock.md}
 * has it in full, with what is done differently here.
 *
 * <p>Thread-safe; one for each server and its settings, for any number of jobs at a time. It has no threads but those of the
 * Redis client, and no connection but for a call to the server.
 */
public final class RedisWorkLock implements AutoCloseable {
    /** Each look has a connection of its own, and the first of them waits until the client library is loaded. */
    static final Duration TIMEOUT = Duration.ofSeconds(5);

    /** Where a worker has its time from. */
    interface Pacing {
        /** The time of this process. */
        Pacing SYSTEM = new Pacing() {
            @Override
            public long nanoTime() {
                return System.nanoTime();
            }

            @Override
            public void pause(CountDownLatch end, long nanos) throws InterruptedException {
                end.await(nanos, TimeUnit.NANOSECONDS);
            }
        };

        long nanoTime();

        /** Waits until the end comes, or a time has passed. */
        void pause(CountDownLatch end, long nanos) throws InterruptedException;
    }

    private final RedisConnections connections;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final WorkLockSettings settings;
    private final Pacing pacing;

    RedisWorkLock(ServerSettings servers, WorkLockSettings settings, Pacing pacing) {
        this.connections = new RedisConnections(servers, false);
        this.settings = settings;
        this.pacing = pacing;
    }

    /**
     * Begins to build a work lock.
     *
     * @param uri where the server is, as for a semaphore: {@code redis://[user:password@]host[:port][/database]}, {@code rediss} for
     *     TLS, and the forms for sentinels and clusters; with the settings {@code timeout}, {@code ca}, {@code certificate} and
     *     {@code key}, and those of sentinels
     * @return a builder
     * @throws IllegalArgumentException if it is not such a URI
     */
    public static Builder builder(String uri) {
        return new Builder(uri);
    }

    /**
     * Takes part in a job, and returns when this worker's part is over. If no other worker has begun, this one does the job
     * at once, in the calling thread. Else it waits behind the others, for at most {@code maxAttempts} lock timeouts after
     * the last sign of life of any of them, and takes over if one of them fails. An interrupt ends the wait and leaves
     * nothing behind; other calls in the same JVM, for the same job or others, are other workers.
     *
     * <p>While it waits, a server that cannot be reached is reported by {@link WorkLockListener#error} and asked again,
     * without an end. A worker that lost the answer to a request that would have given it the lock counts as one that died.
     *
     * @param key what the job is known by, the key in Redis, as it stands
     * @param listener the work, and what the worker hears
     * @param <E> the checked exception that the work may throw
     * @return how this worker's part ended
     * @throws E what the listener threw; if that was the work, the others take over after the lock timeout
     * @throws InterruptedException if the thread is interrupted while it waits
     * @throws BackendUnavailableException if the server cannot be reached at the beginning; nothing was changed
     * @throws BackendAccessException if the server refuses the credentials or a command
     * @throws IncompatibleStateException if the key holds something else; nothing was changed
     * @throws SemaphoreClosedException if this lock is closed before or while it waits
     * @throws IllegalArgumentException if the key is empty
     */
    public <E extends Exception> WorkOutcome run(String key, WorkLockListener<E> listener)
            throws E, InterruptedException {
        if (key.isEmpty()) {
            throw new IllegalArgumentException("The key is empty; name the job");
        }
        return new Participation<>(this, key, Objects.requireNonNull(listener, "listener")).run();
    }

    /**
     * Opens a connection, which the caller closes. Each is used once, by one thread, so it has no watch and no transaction of others.
     */
    LockConnection open(String key) {
        refuseIfClosed(key);
        String what = "key '" + key + "' at " + connections.endpoint();
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

    /** By when a call to the server that starts now has to be over. */
    Deadline callDeadline() {
        return connections.callDeadline();
    }

    WorkLockSettings settings() {
        return settings;
    }

    long nanoTime() {
        return pacing.nanoTime();
    }

    /** Waits, and returns early if this is closed meanwhile. */
    void pause(long nanos) throws InterruptedException {
        pacing.pause(closed, nanos);
    }

    boolean isClosed() {
        return closed.getCount() == 0;
    }

    void refuseIfClosed(String key) {
        if (isClosed()) {
            throw new SemaphoreClosedException("key '" + key + "': the work lock was closed");
        }
    }

    /** Ends all waits, and the connections. What is under way goes on, but its end cannot be recorded any more. */
    @Override
    public void close() {
        closed.countDown();
        connections.close();
    }

    @Override
    public String toString() {
        return "work lock at " + connections.endpoint() + ", " + settings;
    }

    /** Builds a work lock. Not thread-safe. */
    public static final class Builder {
        private final ServerSettings servers;
        private Duration lockTimeout = WorkLockSettings.DEFAULT_LOCK_TIMEOUT;
        private int maxAttempts = WorkLockSettings.DEFAULT_MAX_ATTEMPTS;
        private @Nullable Duration doneRetention;
        private StatusLevel statusLevel = StatusLevel.NORMAL;

        Builder(String uri) {
            BackendUri parsed = BackendUri.parse(uri);
            if (!RedisAddress.schemes().contains(parsed.scheme())) {
                throw new IllegalArgumentException("The scheme of the address is '" + parsed.scheme()
                        + "': write redis://[user:password@]host[:port][/database], or one of "
                        + RedisAddress.schemes());
            }
            this.servers = ServerSettings.from(parsed, TIMEOUT);
            parsed.refuseUnread();
        }

        /**
         * Sets for how long an attempt is left alone. Choose more than the work ever takes; a job whose worker died
         * is begun again after at most that time.
         *
         * @param timeout from 100 ms to 30 days; 5 s by default
         * @return this
         */
        public Builder lockTimeout(Duration timeout) {
            this.lockTimeout = Objects.requireNonNull(timeout, "timeout");
            return this;
        }

        /**
         * Sets how many attempts a job has, the first one included.
         *
         * @param attempts at least 1; 5 by default
         * @return this
         */
        public Builder maxAttempts(int attempts) {
            this.maxAttempts = attempts;
            return this;
        }

        /**
         * Sets how long it is remembered that a job is finished: a worker that hears of the job later than that does it
         * again. Workers in Node delete the marker earlier.
         *
         * @param retention from twice the lock timeout to 3650 days; by default an hour, or twice the lock timeout if
         *     that is longer
         * @return this
         */
        public Builder doneRetention(Duration retention) {
            this.doneRetention = Objects.requireNonNull(retention, "retention");
            return this;
        }

        /**
         * Sets what {@link WorkLockListener#status} hears.
         *
         * @param level by default {@link StatusLevel#NORMAL}
         * @return this
         */
        public Builder statusLevel(StatusLevel level) {
            this.statusLevel = Objects.requireNonNull(level, "level");
            return this;
        }

        /**
         * Builds it. Does not connect.
         *
         * @return the lock, to be closed by the caller
         * @throws IllegalArgumentException if a setting is out of its bounds, naming it
         */
        public RedisWorkLock build() {
            return build(Pacing.SYSTEM);
        }

        RedisWorkLock build(Pacing pacing) {
            Duration retention = doneRetention == null ? WorkLockSettings.defaultRetention(lockTimeout) : doneRetention;
            WorkLockSettings settings = new WorkLockSettings(lockTimeout, maxAttempts, retention, statusLevel);
            return new RedisWorkLock(servers, settings, pacing);
        }
    }
}
