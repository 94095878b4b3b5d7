package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;

/** The compatibility kit on a real agent, but for the section that kills processes: see {@link ConsulCrashTest}. */
class ConsulTckTest extends SemaphoreTck {
    @Override
    public SemaphoreTckHarness harness() {
        return new ConsulHarness();
    }
}
