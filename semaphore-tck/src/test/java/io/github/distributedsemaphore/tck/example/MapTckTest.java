package io.github.distributedsemaphore.tck.example;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.AgentLauncher;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import java.util.Map;
import java.util.Optional;

/** The kit over the example: level 0, as there is nothing but this process. A short lease saves time. */
class MapTckTest extends SemaphoreTck {
    @Override
    public SemaphoreTckHarness harness() {
        return new UriHarness("map:?detection=3s&timeout=1s") {
            @Override
            public Optional<AgentLauncher> agents() {
                return Optional.empty();
            }

            /** Of the JDK, for what a destroyed semaphore leaves. */
            @Override
            public boolean mayStay(Thread thread) {
                return thread.getName().startsWith("CompletableFutureDelayScheduler");
            }

            @Override
            public Map<Integer, String> absent() {
                return Map.of(2, "the map is in this process", 3, "there is no server that could be stopped");
            }
        };
    }
}
