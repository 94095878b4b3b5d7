package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.CrossProcessRules;
import io.github.distributedsemaphore.tck.FencingRules;
import io.github.distributedsemaphore.tck.HarnessSource;
import io.github.distributedsemaphore.tck.PauseRules;
import io.github.distributedsemaphore.tck.Section;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;
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
