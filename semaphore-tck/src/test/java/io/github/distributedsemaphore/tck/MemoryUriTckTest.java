package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.tck.harness.AgentLauncher;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import java.util.Map;
import java.util.Optional;

/** The compatibility kit on {@code memory:} as an application's tests connect to it. */
class MemoryUriTckTest extends SemaphoreTck {
    @Override
    public int jvms() {
        return 2;
    }

    @Override
    public SemaphoreTckHarness harness() {
        return new UriHarness("memory:kit?detection=2s") {
            @Override
            public Optional<AgentLauncher> agents() {
                return Optional.empty();
            }

            @Override
            public Map<Integer, String> absent() {
                return Map.of(
                        2, "the server is in this JVM: there is no link that could be cut",
                        3, "there is no server that could be stopped",
                        4, "the stored state is in this JVM, and nobody else reaches it",
                        5, "there are no accounts");
            }
        };
    }
}
