package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;

/** The compatibility kit on real servers, one for each JVM. */
class PostgresTckTest extends SemaphoreTck {
    @Override
    public SemaphoreTckHarness harness() {
        return new PostgresHarness();
    }

    /** Much of the time is waiting for the end of leases. */
    @Override
    public int jvms() {
        return 3;
    }
}
