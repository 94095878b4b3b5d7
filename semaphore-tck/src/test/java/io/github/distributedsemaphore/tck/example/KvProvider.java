package io.github.distributedsemaphore.tck.example;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.CasBackend;
import java.util.Set;

/** The backend {@code kv://host:port}. Its name is in META-INF/services. */
public final class KvProvider implements BackendProvider {
    @Override
    public Set<String> schemes() {
        return Set.of("kv");
    }

    @Override
    public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
        if (!uri.hosts().matches("[^,]+:\\d+")) {
            throw new IllegalArgumentException("'" + uri + "' names no host and port: write kv://host:port");
        }
        CasBackend.Settings settings = CasBackend.Settings.from(uri, self, true);
        return new CasBackend(
                "kv",
                new KvStore("http://" + uri.hosts()),
                settings,
                guarantees -> guarantees
                        .without(Capability.DURABLE_STATE)
                        .exposure(Fault.BACKEND_RESTART, settings.detection())
                        .notes("The server keeps everything in memory: a restart loses all holders."));
    }
}
