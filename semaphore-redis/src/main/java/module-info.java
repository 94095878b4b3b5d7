/** The backend for Redis: numbered slots in sets, taken by optimistic transactions. */
// Lettuce names itself by Automatic-Module-Name and has no descriptor; nothing of it is in our signatures.
@SuppressWarnings("requires-automatic")
module io.github.distributedsemaphore.redis {
    requires transitive io.github.distributedsemaphore.api;
    requires io.netty.buffer;
    requires io.netty.transport;
    requires lettuce.core;
    requires static org.jspecify;
    requires org.slf4j;

    exports io.github.distributedsemaphore.redis;
    exports io.github.distributedsemaphore.redis.worklock;

    provides io.github.distributedsemaphore.spi.BackendProvider with
            io.github.distributedsemaphore.redis.RedisBackendProvider;
}
