package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.BackendUri;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.time.Duration;
import java.util.Set;

/**
 * Semaphores in a Redis server, 6.2 or newer: {@code redis://[user:password@]host[:port][/database]}.
 *
 * <p>Each semaphore is a few keys under one hash tag. A slot is taken by HSETNX in a transaction under a WATCH that was begun
 * in the round trip before, so an acquire is one round trip; no scripts are used. A client lives by a deadline in the
 * server's time, which it moves forward while it holds something; {@code docs/backends/redis.md} has the layout, the
 * guarantees and the rights that a user needs.
 *
 * <p>Settings: {@code detection} (1s to 1h, by default 10s), within which the slot of a process that died is free; {@code
 * prefix} (by default {@code semaphore}), what all keys begin with.
 *
 * <p>Thread-safe.
 */
public final class RedisBackendProvider implements BackendProvider {
    /** Loading the client library takes its time, once. */
    private static final Duration FIRST_CONNECTION = Duration.ofSeconds(5);

    /** Creates it, for {@link java.util.ServiceLoader}. */
    public RedisBackendProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("redis");
    }

    /**
     * Connects and looks at the server.
     *
     * @throws io.github.distributedsemaphore.IncompatibleStateException also if the server is too old, or may drop keys when
     *     memory is short
     */
    @Override
    public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
        RedisSettings settings = RedisSettings.from(uri, self);
        RedisConnections connections = new RedisConnections(settings);
        try {
            Deadline deadline = Deadline.after(System.nanoTime(), FIRST_CONNECTION);
            ServerCheck server = connections.check(deadline);
            return new RedisBackend(settings, connections, server);
        } catch (RuntimeException e) {
            connections.close();
            throw RedisFailures.certain("Redis at " + settings.endpoint(), e);
        }
    }
}
