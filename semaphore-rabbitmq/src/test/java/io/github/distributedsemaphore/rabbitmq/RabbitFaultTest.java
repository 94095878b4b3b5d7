package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.tck.CutRules;
import io.github.distributedsemaphore.tck.ErrorRules;
import io.github.distributedsemaphore.tck.FailOverRules;
import io.github.distributedsemaphore.tck.HarnessSource;
import io.github.distributedsemaphore.tck.IsolationRules;
import io.github.distributedsemaphore.tck.LostAnswerRules;
import io.github.distributedsemaphore.tck.OutageRules;
import io.github.distributedsemaphore.tck.RestartRules;
import io.github.distributedsemaphore.tck.Section;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.StallRules;
import io.github.distributedsemaphore.tck.StoppedServerRules;
import io.github.distributedsemaphore.tck.StormRules;
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
