package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.faults.CrashRules;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;

/** The rules of the kit that wait for the end of Consul's sessions again and again, in a JVM and on an agent of their own. */
class ConsulCrashTest extends CrashRules implements HarnessSource {
    @Override
    public SemaphoreTckHarness harness() {
        return new ConsulHarness();
    }
}
