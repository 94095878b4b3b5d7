package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.redis.net.RedisAddress;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.Set;

/**
 * Semaphores in Redis, 6.2 or newer: {@code redis://[user:password@]host[:port][/database]}, {@code
 * redis-sentinel://host,host/?master=NAME}, {@code redis-cluster://host,host}; and each of them over TLS, {@code rediss://},
 * {@code rediss-sentinel://}, {@code rediss-cluster://}.
 *
 * <p>Each semaphore is a few keys under one hash tag. A slot is taken by SMOVE in a transaction under a WATCH that was begun
 * in the round trip before, so an acquire is one round trip; no scripts are used. A client lives by a deadline in the
 * server's time, which it moves forward while it holds something; {@code docs/backends/redis.md} has the
 * guarantees and the rights that a user needs.
 *
 * <p>Settings: {@code detection} (1s to 1h, by default 10s), within which the slot of a process that died is free; {@code
 * prefix} (by default {@code semaphore}), what all keys begin with; {@code timeout} (200ms to 1m, by default 2s), within which a
 * server has to answer; {@code minReplicas} (0 to 100, by default 0), how many replicas have
 * to confirm a grant; {@code handOver} (by default false), whether this client takes slots that a release hands to it; for TLS {@code ca}, {@code certificate} and {@code key}, files in PEM; for sentinels {@code master},
 * {@code sentinelUser} and {@code sentinelPassword}.
 *
 * <p>Thread-safe.
 */
public final class RedisBackendProvider implements BackendProvider {
    /** Creates it, for {@link java.util.ServiceLoader}. */
    public RedisBackendProvider() {}

    @Override
    public Set<String> schemes() {
        return RedisAddress.schemes();
    }

    /**
     * Checks the settings and prepares connections. No I/O but for the files of TLS: the first call connects, and each new
     * connection looks at its server. Until the server is right, each call that needs one throws {@link
     * io.github.distributedsemaphore.IncompatibleStateException} if the server is too old, may drop keys when memory is short, or
     * is of another kind than the URI says; and {@link io.github.distributedsemaphore.BackendAccessException} if it refuses the
     * credentials or the certificate, or its own certificate is not trusted.
     *
     * @throws IllegalArgumentException if a setting is wrong, or a file of TLS is missing or holds something else
     */
    @Override
    public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
        return new RedisBackend(RedisSettings.from(uri, self));
    }
}
