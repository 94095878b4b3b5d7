package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.session.SessionTck;
import java.util.UUID;

/** The same where a release hands its slot to the first client that waits. */
class RedisHandOverSessionTest extends SessionTck {
    private final String uri =
            RedisServer.address() + "?detection=2s&handOver=true&prefix=session-" + UUID.randomUUID();

    @Override
    protected SemaphoreBackend open(HolderInfo self) {
        return new RedisBackendProvider().open(BackendUri.parse(uri), self);
    }
}
