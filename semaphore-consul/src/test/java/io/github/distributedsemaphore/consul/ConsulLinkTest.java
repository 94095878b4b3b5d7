package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.CutRules;
import io.github.distributedsemaphore.tck.HarnessSource;
import io.github.distributedsemaphore.tck.LostAnswerRules;
import io.github.distributedsemaphore.tck.OutageRules;
import io.github.distributedsemaphore.tck.Section;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.StallRules;
import org.junit.jupiter.api.Nested;

/** The sections of the kit that disturb the link, but for {@link ConsulIsolationTest}. */
@Section
class ConsulLinkTest implements HarnessSource {
    @Override
    public SemaphoreTckHarness harness() {
        return new ConsulHarness();
    }

    @Nested
    class LostAnswer extends LostAnswerRules {}

    @Nested
    class Cut extends CutRules {}

    @Nested
    class Outage extends OutageRules {}

    @Nested
    class Stall extends StallRules {}
}
