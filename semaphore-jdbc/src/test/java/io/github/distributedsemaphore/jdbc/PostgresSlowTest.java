package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.faults.CrashRules;
import io.github.distributedsemaphore.tck.faults.CrossProcessRules;
import io.github.distributedsemaphore.tck.faults.PauseRules;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.storms.FaultHistoryRules;
import io.github.distributedsemaphore.tck.storms.StormRules;
import org.junit.jupiter.api.Nested;

/** The sections of the kit that wait for the end of leases or take long, in a JVM and on a server of their own. */
@Section
class PostgresSlowTest implements HarnessSource {
    @Override
    public SemaphoreTckHarness harness() {
        return new PostgresHarness();
    }

    @Nested
    class Crash extends CrashRules {}

    @Nested
    class CrossProcess extends CrossProcessRules {}

    @Nested
    class Pause extends PauseRules {}

    @Nested
    class FaultHistory extends FaultHistoryRules {}

    @Nested
    class Storm extends StormRules {}
}
