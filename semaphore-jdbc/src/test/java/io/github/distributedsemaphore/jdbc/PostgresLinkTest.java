package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.CutRules;
import io.github.distributedsemaphore.tck.HarnessSource;
import io.github.distributedsemaphore.tck.IsolationRules;
import io.github.distributedsemaphore.tck.LostAnswerRules;
import io.github.distributedsemaphore.tck.OutageRules;
import io.github.distributedsemaphore.tck.Section;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.StallRules;
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
