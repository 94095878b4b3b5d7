package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.faults.IsolationRules;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;

/** The rules of the kit about holders that are cut off, in a JVM and on an agent of their own: they wait for sessions to end. */
class ConsulIsolationTest extends IsolationRules implements HarnessSource {
    @Override
    public SemaphoreTckHarness harness() {
        return new ConsulHarness();
    }
}
