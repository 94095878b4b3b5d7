package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;

/** The compatibility kit on real agents, one for each JVM. */
class ConsulTckTest extends SemaphoreTck {
    @Override
    public SemaphoreTckHarness harness() {
        return new ConsulHarness();
    }

    /** Most of the time is waiting for the end of Consul's sessions, 20 s at least. */
    @Override
    public int jvms() {
        return 4;
    }
}
