package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.tck.faults.CutRules;
import io.github.distributedsemaphore.tck.faults.ErrorRules;
import io.github.distributedsemaphore.tck.faults.FailOverRules;
import io.github.distributedsemaphore.tck.faults.IsolationRules;
import io.github.distributedsemaphore.tck.faults.LostAnswerRules;
import io.github.distributedsemaphore.tck.faults.OutageRules;
import io.github.distributedsemaphore.tck.faults.RestartRules;
import io.github.distributedsemaphore.tck.faults.StallRules;
import io.github.distributedsemaphore.tck.faults.StoppedServerRules;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.storms.StormRules;
import org.junit.jupiter.api.Nested;

/** The sections of the kit that disturb links and servers: tags {@code link} and {@code server} of {@link RabbitTckTest}. */
@Section
class RabbitFaultTest implements HarnessSource {
    @Override
    public SemaphoreTckHarness harness() {
        return RabbitTckTest.onBroker();
    }

    @Nested
    class LostAnswer extends LostAnswerRules {}

    @Nested
    class Cut extends CutRules {}

    @Nested
    class Isolation extends IsolationRules {}

    @Nested
    class Stall extends StallRules {}

    @Nested
    class Outage extends OutageRules {}

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
