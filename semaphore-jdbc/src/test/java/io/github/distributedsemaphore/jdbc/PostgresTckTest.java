package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;

/**
 * The compatibility kit on a real PostgreSQL, but for the sections that the build leaves to test classes of their own, which run
 * side by side: see the module's POM.
 */
class PostgresTckTest extends SemaphoreTck {
    @Override
    public SemaphoreTckHarness harness() {
        return new PostgresHarness();
    }
}
