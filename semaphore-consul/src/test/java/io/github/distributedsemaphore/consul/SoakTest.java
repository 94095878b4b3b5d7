package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.SoakTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;

/** Hours of quiet traffic on a real agent. Only with {@code -Dtck.soak=2h}. */
class SoakTest extends SoakTck {
    @Override
    protected SemaphoreTckHarness harness() {
        return new ConsulTckTest().harness();
    }
}
