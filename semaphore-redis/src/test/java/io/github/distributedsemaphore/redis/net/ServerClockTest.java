package io.github.distributedsemaphore.redis.net;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What a client knows of the server's clock. */
class ServerClockTest {
    private static final long MILLI = 1_000_000;
    private static final long HOUR_MICROS = 3_600_000_000L;

    @Test
    void anAnswerOfTheServerBeforeDoesNotTurnBackTheClockOfTheNext() {
        ServerClock clock = new ServerClock();
        long now = System.nanoTime();
        clock.restart(now, 5 * HOUR_MICROS);
        clock.read(now - MILLI, 4 * HOUR_MICROS);
        assertThat(clock.micros()).isGreaterThanOrEqualTo(5 * HOUR_MICROS);
        clock.read(now + MILLI, 5 * HOUR_MICROS);
        assertThat(clock.nanosAt(5 * HOUR_MICROS)).isEqualTo(now + MILLI);
    }
}
