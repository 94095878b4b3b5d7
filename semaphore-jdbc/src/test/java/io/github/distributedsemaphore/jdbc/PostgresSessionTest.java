package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.session.SessionTck;

/** The contract of sessions on a real server. */
class PostgresSessionTest extends SessionTck {
    @Override
    protected SemaphoreBackend open(HolderInfo self) {
        return new JdbcBackendProvider()
                .open(BackendUri.parse(PostgresServer.shared().uri("?detection=9s&timeout=3s")), self);
    }
}
