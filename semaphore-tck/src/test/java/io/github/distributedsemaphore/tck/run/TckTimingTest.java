package io.github.distributedsemaphore.tck.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.tck.agent.Heartbeat;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The loops of the kit. */
class TckTimingTest {
    private final Heartbeat heartbeat = new Heartbeat();

    @AfterEach
    void close() {
        heartbeat.close();
    }

    @Test
    void aRoundThatWasPromisedIsHadAlsoIfTheTimeRunsOutMeanwhile() {
        TckTiming timing = new TckTiming(TckSettings.from(Map.<String, String>of()::get), heartbeat);
        Duration budget = Duration.ofSeconds(1);
        Iterator<Integer> rounds = timing.repeat(1_000_000, budget).iterator();
        long start = System.nanoTime();
        for (int i = 0; i < 3; i++) {
            rounds.next();
        }
        boolean promised = rounds.hasNext();
        while (System.nanoTime() - start < budget.toNanos()) {
            Thread.onSpinWait();
        }
        if (promised) {
            assertThat(rounds.next()).isEqualTo(3);
        }
        assertThat(rounds.hasNext()).isFalse();
    }

    @Test
    void whatIsToStaySoIsLookedAtWhenTheTimeIsOver() {
        TckTiming timing = new TckTiming(TckSettings.from(Map.<String, String>of()::get), heartbeat);
        AtomicInteger looks = new AtomicInteger();
        assertThatThrownBy(() -> timing.proveNothing("one look", Duration.ZERO, () -> looks.incrementAndGet() == 1))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("expected to stay true")
                .hasMessageEndingWith(": one look");
    }

    @Test
    void aTimeIsOverWhenTheMachineRanForAsLong() {
        TckTiming timing = new TckTiming(TckSettings.from(Map.<String, String>of()::get), heartbeat);
        long start = System.nanoTime();
        assertThat(timing.isOver(Duration.ofMinutes(1), start)).isFalse();
        Duration time = Duration.ofMillis(20);
        while (!timing.isOver(time, start)) {
            Thread.onSpinWait();
        }
        long end = System.nanoTime();
        assertThat(end - start - timing.stoodStill(start, end)).isGreaterThanOrEqualTo(time.toNanos());
    }
}
