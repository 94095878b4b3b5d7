package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.faults.CrossProcessRules;
import io.github.distributedsemaphore.tck.faults.PauseRules;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.rules.FencingRules;
import org.junit.jupiter.api.Nested;

/** The sections of the kit that wait for the end of a session now and then, in a JVM and on an agent of their own. */
@Section
class ConsulSlowTest implements HarnessSource {
    @Override
    public SemaphoreTckHarness harness() {
        return new ConsulHarness();
    }

    @Nested
    class Fencing extends FencingRules {}

    @Nested
    class CrossProcess extends CrossProcessRules {}

    @Nested
    class Pause extends PauseRules {}
}
