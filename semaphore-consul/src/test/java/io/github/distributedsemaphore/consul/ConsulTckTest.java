package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;

/**
 * The compatibility kit on a real agent, but for the sections that the build leaves to test classes of their own, which run
 * side by side: see the module's POM.
 */
class ConsulTckTest extends SemaphoreTck {
    @Override
    public SemaphoreTckHarness harness() {
        return System.getProperty("kit.elsewhere", "").equals("none") ? ConsulHarness.ofNode() : new ConsulHarness();
    }
}
