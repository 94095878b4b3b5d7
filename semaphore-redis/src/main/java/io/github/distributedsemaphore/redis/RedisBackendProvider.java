package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.BackendUri;
import io.github.distributedsemaphore.spi.Durations;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.time.Duration;
import java.util.Set;

/**
 * Semaphores in Redis, 6.2 or newer: {@code redis://[user:password@]host[:port][/database]}, {@code
 * redis-sentinel://host,host/?master=NAME}, {@code redis-cluster://host,host}; and each of them over TLS, {@code rediss://},
 * {@code rediss-sentinel://}, {@code rediss-cluster://}.
 *
 * <p>Each semaphore is a few keys under one hash tag. A slot is taken by HSETNX in a transaction under a WATCH that was begun
 * in the round trip before, so an acquire is one round trip; no scripts are used. A client lives by a deadline in the
 * server's time, which it moves forward while it holds something; {@code docs/backends/redis.md} has the layout, the
 * guarantees and the rights that a user needs.
 *
 * <p>Settings: {@code detection} (1s to 1h, by default 10s), within which the slot of a process that died is free; {@code
 * prefix} (by default {@code semaphore}), what all keys begin with; {@code startup} (0s to 10m, by default 5s), how long the
 * first connection waits for a server that is starting; {@code minReplicas} (0 to 100, by default 0), how many replicas have
 * to confirm a grant; for TLS {@code ca}, {@code certificate} and {@code key}, files in PEM; for sentinels {@code master},
 * {@code sentinelUser} and {@code sentinelPassword}.
 *
 * <p>Thread-safe.
 */
public final class RedisBackendProvider implements BackendProvider {
    /** Loading the client library takes its time, once. */
    private static final Duration FIRST_CONNECTION = Duration.ofSeconds(5);

    private static final Duration BETWEEN_LOOKS = Duration.ofMillis(100);

    /** Creates it, for {@link java.util.ServiceLoader}. */
    public RedisBackendProvider() {}

    @Override
    public Set<String> schemes() {
        return RedisAddress.schemes();
    }

    /**
     * Connects and looks at the servers. Waits for them as the setting {@code startup} says; an interrupt ends that wait.
     *
     * @throws io.github.distributedsemaphore.IncompatibleStateException also if a server is too old, may drop keys when memory
     *     is short, or is of another kind than the URI says
     * @throws io.github.distributedsemaphore.BackendAccessException if it refuses the credentials or the certificate, or its
     *     own certificate is not trusted
     */
    @Override
    public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
        RedisSettings settings = RedisSettings.from(uri, self);
        RedisConnections connections = new RedisConnections(settings);
        try {
            return new RedisBackend(settings, connections, firstLook(connections, settings));
        } catch (RuntimeException e) {
            connections.close();
            throw RedisFailures.certain("Redis at " + settings.address(), e);
        }
    }

    /** A server may be starting, or reading its data, as this client starts; what it refuses it will refuse later too. */
    private static ServerCheck firstLook(RedisConnections connections, RedisSettings settings) {
        Deadline end = Deadline.after(System.nanoTime(), settings.startup());
        while (true) {
            try {
                return connections.check(Deadline.after(System.nanoTime(), FIRST_CONNECTION));
            } catch (BackendUnavailableException | WireException e) {
                if (end.isPast(System.nanoTime()) || Thread.currentThread().isInterrupted()) {
                    throw new BackendUnavailableException(
                            e.getMessage() + " (waited for " + Durations.format(settings.startup())
                                    + " for it to start, as the setting 'startup' says)",
                            e);
                }
                Awaiting.pause(Deadline.after(System.nanoTime(), BETWEEN_LOOKS));
            }
        }
    }
}
