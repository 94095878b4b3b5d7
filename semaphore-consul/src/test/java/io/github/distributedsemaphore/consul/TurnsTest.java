package io.github.distributedsemaphore.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.InterruptShield;
import java.util.List;
import org.junit.jupiter.api.Test;

class TurnsTest {
    private static final ExchangeRequest WAITS = new ExchangeRequest(List.of(), List.of(1), 1, true);
    private static final ExchangeRequest TRIES_ONCE = new ExchangeRequest(List.of(), List.of(1), 1, true, 1);

    @Test
    void whoTookManySlotsLeavesATurnAndBeginsAnew() {
        Turns turns = new Turns();
        try (InterruptShield shield = new InterruptShield()) {
            assertThat(turns.leave(WAITS, shield)).as("nothing taken yet").isFalse();
            turns.granted(100);
            assertThat(turns.leave(TRIES_ONCE, shield)).as("who does not wait").isFalse();
            long start = System.nanoTime();
            assertThat(turns.leave(WAITS, shield)).isTrue();
            assertThat(System.nanoTime() - start).isPositive();
            assertThat(turns.leave(WAITS, shield)).as("a turn was left").isFalse();
            turns.granted(100);
            turns.begin();
            assertThat(turns.leave(WAITS, shield)).as("others had a turn").isFalse();
        }
    }
}
