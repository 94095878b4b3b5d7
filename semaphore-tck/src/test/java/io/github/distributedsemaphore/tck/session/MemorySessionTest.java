package io.github.distributedsemaphore.tck.session;

import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.ProbedServer;
import java.time.Duration;

/** The contract over the backend in memory. */
class MemorySessionTest extends SessionTck {
    private final MemoryServer server = new ProbedServer(Duration.ofSeconds(2), MemoryServer.ALL);

    @Override
    protected SemaphoreBackend open(HolderInfo self) {
        return new MemoryBackend(server, self);
    }
}
