package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.faults.CutRules;
import io.github.distributedsemaphore.tck.faults.IsolationRules;
import io.github.distributedsemaphore.tck.faults.LostAnswerRules;
import io.github.distributedsemaphore.tck.faults.OutageRules;
import io.github.distributedsemaphore.tck.faults.StallRules;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import org.junit.jupiter.api.Nested;

/** The sections of the kit that disturb the link, in a JVM and on a server of their own. */
@Section
class PostgresLinkTest implements HarnessSource {
    @Override
    public SemaphoreTckHarness harness() {
        return new PostgresHarness();
    }

    @Nested
    class LostAnswer extends LostAnswerRules {}

    @Nested
    class Cut extends CutRules {}

    @Nested
    class Outage extends OutageRules {}

    @Nested
    class Stall extends StallRules {}

    @Nested
    class Isolation extends IsolationRules {}
}
