package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** The whole kit on H2 in memory: -Dkit.h2=true -Dtest=H2WholeTckTest. */
@EnabledIfSystemProperty(named = "kit.h2", matches = "true")
class H2WholeTckTest extends SemaphoreTck {
    @Override
    public SemaphoreTckHarness harness() {
        return new H2TckTest.Harness();
    }
}
