package io.github.distributedsemaphore.tck.example;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.Set;

/** One client. */
record TableBackend(HolderInfo self) implements SemaphoreBackend {
    /** Found by its name in META-INF/services. */
    public static final class Provider implements BackendProvider {
        @Override
        public Set<String> schemes() {
            return Set.of("table");
        }

        @Override
        public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
            return new TableBackend(self);
        }
    }

    /** What is declared here, the kit shows; what is not, it shows to be absent. */
    @Override
    public Guarantees guarantees() {
        return GuaranteesBuilder.of("table")
                .capabilities(Capability.FENCING, Capability.LISTING)
                .lossNoticeBound(Duration.ofSeconds(2))
                .wakeUpBound(Duration.ofMillis(500))
                .callBound(Duration.ofMillis(500))
                .exposure(Fault.CLIENT_CRASH, Duration.ZERO)
                .exposure(Fault.CLIENT_PAUSE, Duration.ZERO)
                .sizes(255, 1000)
                .notes("A table in the memory of one process: for this example only.")
                .build();
    }

    @Override
    public BackendSession open(String name, SessionListener listener) {
        return new TableSession(self, name);
    }

    @Override
    public BackendAdmin admin() {
        return new TableAdmin();
    }

    @Override
    public void close() {}
}
