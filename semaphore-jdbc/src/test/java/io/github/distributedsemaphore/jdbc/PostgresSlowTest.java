package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.CrashRules;
import io.github.distributedsemaphore.tck.CrossProcessRules;
import io.github.distributedsemaphore.tck.FaultHistoryRules;
import io.github.distributedsemaphore.tck.HarnessSource;
import io.github.distributedsemaphore.tck.PauseRules;
import io.github.distributedsemaphore.tck.Section;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.StormRules;
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
