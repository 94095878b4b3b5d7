package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.ErrorRules;
import io.github.distributedsemaphore.tck.FailOverRules;
import io.github.distributedsemaphore.tck.HarnessSource;
import io.github.distributedsemaphore.tck.RestartRules;
import io.github.distributedsemaphore.tck.Section;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.StoppedServerRules;
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
