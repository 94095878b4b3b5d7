package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.session.SessionTck;

/** The contract of sessions on a real broker. */
class RabbitSessionTest extends SessionTck {
    @Override
    protected SemaphoreBackend open(HolderInfo self) {
        return new RabbitBackendProvider().open(BackendUri.parse(RabbitServer.uri() + RabbitTckTest.SETTINGS), self);
    }
}
