package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.faults.ErrorRules;
import io.github.distributedsemaphore.tck.faults.FailOverRules;
import io.github.distributedsemaphore.tck.faults.RestartRules;
import io.github.distributedsemaphore.tck.faults.StoppedServerRules;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import org.junit.jupiter.api.Nested;

/** The sections of the kit that stop, kill and wipe servers, on servers of their own. */
@Section
class PostgresServerTest implements HarnessSource {
    @Override
    public SemaphoreTckHarness harness() {
        return new PostgresHarness();
    }

    @Nested
    class StoppedServer extends StoppedServerRules {}

    @Nested
    class Restart extends RestartRules {}

    @Nested
    class FailOver extends FailOverRules {}

    @Nested
    class Errors extends ErrorRules {}
}
