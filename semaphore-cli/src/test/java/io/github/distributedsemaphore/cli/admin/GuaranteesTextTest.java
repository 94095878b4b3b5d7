package io.github.distributedsemaphore.cli.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

final class GuaranteesTextTest {
    @Test
    void saysEveryBoundEveryCapabilityAndEveryExposure() {
        String text = GuaranteesText.of(GuaranteesBuilder.of("paper")
                .capabilities(Capability.FENCING)
                .detection(Duration.ofSeconds(1), Duration.ofSeconds(10))
                .wakeUpBound(Duration.ofMillis(250))
                .exposure(Fault.CLIENT_CRASH, Duration.ZERO)
                .exposure(Fault.CLIENT_PAUSE, Duration.ofSeconds(3))
                .exposure(Fault.STATE_REMOVED, Exposure.UNBOUNDED)
                .sizes(200, 1000)
                .notes("Do not let it get wet.")
                .build());

        assertThat(text.lines().map(line -> line.replaceAll(" {2,}", " | ")))
                .contains(
                        "BACKEND | paper",
                        "fencing | yes",
                        "lease | no",
                        "dead holder's slot free after | at least 1s",
                        " | at most 10s",
                        "waiter woken within | 250ms",
                        "two holders of a slot after client crash | never",
                        "two holders of a slot after client pause | for at most 3s",
                        "two holders of a slot after state removed | no bound",
                        "two holders of a slot after fail over | cannot happen",
                        "longest name | 200 bytes of UTF-8",
                        "- Do not let it get wet.");
        assertThat(text).hasLineCount(1 + Arrays.asList(Capability.values()).size() + 8 + Fault.values().length + 1);
    }
}
