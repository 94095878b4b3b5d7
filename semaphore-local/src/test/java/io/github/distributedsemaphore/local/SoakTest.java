package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.tck.SoakTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;

/** Hours of quiet traffic on files of this machine. Only with {@code -Dtck.soak=2h}. */
class SoakTest extends SoakTck {
    @Override
    protected SemaphoreTckHarness harness() {
        return new LocalTckTest().harness();
    }
}
