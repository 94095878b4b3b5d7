package io.github.distributedsemaphore.tck.example;

import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.session.SessionTck;

/** The contract of sessions over the example. */
class MapSessionTest extends SessionTck {
    @Override
    protected SemaphoreBackend open(HolderInfo self) {
        return new MapProvider().open(BackendUri.parse("map:?detection=3s&timeout=1s"), self);
    }
}
