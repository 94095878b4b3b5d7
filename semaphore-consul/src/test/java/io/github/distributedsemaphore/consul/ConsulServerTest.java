package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.faults.ErrorRules;
import io.github.distributedsemaphore.tck.faults.FailOverRules;
import io.github.distributedsemaphore.tck.faults.RestartRules;
import io.github.distributedsemaphore.tck.faults.StoppedServerRules;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.storms.StormRules;
import org.junit.jupiter.api.Nested;

/** The sections of the kit that stop, kill and wipe servers, on servers of their own. */
@Section
class ConsulServerTest implements HarnessSource {
    @Override
    public SemaphoreTckHarness harness() {
        return ConsulHarness.ofNode();
    }

    @Nested
    class StoppedServer extends StoppedServerRules {}

    @Nested
    class Restart extends RestartRules {}

    @Nested
    class FailOver extends FailOverRules {}

    @Nested
    class Errors extends ErrorRules {}

    @Nested
    class Storm extends StormRules {}
}
