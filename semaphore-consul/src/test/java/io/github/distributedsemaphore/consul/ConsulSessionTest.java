package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.session.SessionTck;
import java.util.UUID;

/** The contract of sessions at a real agent. */
class ConsulSessionTest extends SessionTck {
    private final String uri =
            "consul://" + ConsulServer.shared().address() + "?detection=22s&prefix=session/" + UUID.randomUUID();

    @Override
    protected SemaphoreBackend open(HolderInfo self) {
        return new ConsulBackendProvider().open(BackendUri.parse(uri), self);
    }
}
