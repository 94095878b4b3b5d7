package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.session.SessionTck;
import java.util.UUID;

/** The contract of sessions on a database in this process, asked on a timer. */
class H2SessionTest extends SessionTck {
    private final String uri =
            "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1?detection=5s&timeout=3s&poll=20ms";

    @Override
    protected SemaphoreBackend open(HolderInfo self) {
        return new JdbcBackendProvider().open(BackendUri.parse(uri), self);
    }
}
