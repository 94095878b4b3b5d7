package io.github.distributedsemaphore.tck.example;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.CasBackend;
import java.util.Set;

/** The backend {@code map:}. Its name is in META-INF/services. */
public final class MapProvider implements BackendProvider {
    @Override
    public Set<String> schemes() {
        return Set.of("map");
    }

    @Override
    public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
        // Settings of your own are read here too: uri.text("prefix", ""). The client refuses what nobody has read.
        CasBackend.Settings settings = CasBackend.Settings.from(uri, self, true);
        return new CasBackend(
                "map",
                new MapStore(),
                settings,
                guarantees -> guarantees
                        .without(Capability.CROSS_PROCESS, Capability.DURABLE_STATE)
                        .exposure(Fault.LINK_CUT, Exposure.CANNOT_HAPPEN)
                        .exposure(Fault.BACKEND_RESTART, Exposure.CANNOT_HAPPEN)
                        .notes("A map in the memory of one process, for this example only."));
    }
}
