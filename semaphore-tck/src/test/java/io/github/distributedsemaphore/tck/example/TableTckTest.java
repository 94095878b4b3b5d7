package io.github.distributedsemaphore.tck.example;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.UriHarness;
import io.github.distributedsemaphore.tck.agent.AgentLauncher;
import java.util.Map;
import java.util.Optional;

/** The kit over the example: level 0, as there is nothing but this process. */
class TableTckTest extends SemaphoreTck {
    @Override
    public SemaphoreTckHarness harness() {
        return new UriHarness("table:") {
            @Override
            public Optional<AgentLauncher> agents() {
                return Optional.empty();
            }

            @Override
            public Map<Integer, String> absent() {
                return Map.of(2, "the table is in this process", 3, "there is no server that could be stopped");
            }
        };
    }
}
