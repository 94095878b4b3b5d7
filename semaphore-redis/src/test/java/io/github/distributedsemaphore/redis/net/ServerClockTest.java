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
        clock.restart(now, now, 5 * HOUR_MICROS);
        clock.read(now - MILLI, now, 4 * HOUR_MICROS);
        assertThat(clock.micros()).isGreaterThanOrEqualTo(5 * HOUR_MICROS);
        clock.read(now + MILLI, now + MILLI, 5 * HOUR_MICROS);
        assertThat(clock.nanosAt(5 * HOUR_MICROS)).isEqualTo(now + MILLI);
    }

    /** What lies between the two was added to each lease. */
    @Test
    void theEarliestCountsFromTheArrivalOfAnAnswerAndTheLatestFromTheRequest() {
        ServerClock clock = new ServerClock();
        long heard = System.nanoTime();
        clock.restart(heard - 1_500 * MILLI, heard, 5 * HOUR_MICROS);
        assertThat(clock.latestNanosAt(5 * HOUR_MICROS)).isEqualTo(heard);
        assertThat(clock.nanosAt(5 * HOUR_MICROS)).isEqualTo(heard - 1_500 * MILLI);
        clock.read(heard, heard + 1_000 * MILLI, 5 * HOUR_MICROS);
        assertThat(clock.latestNanosAt(5 * HOUR_MICROS)).as("the better one").isEqualTo(heard);
        assertThat(clock.nanosAt(5 * HOUR_MICROS)).as("the better one").isEqualTo(heard);
    }

    @Test
    void aClockThatWasSetIsBelievedAtOnce() {
        ServerClock clock = new ServerClock();
        long now = System.nanoTime();
        clock.restart(now, now + MILLI, 5 * HOUR_MICROS);
        clock.read(now + 2 * MILLI, now + 3 * MILLI, 6 * HOUR_MICROS);
        assertThat(clock.micros()).isGreaterThan(5 * HOUR_MICROS + HOUR_MICROS / 2);
        clock.read(now + 4 * MILLI, now + 5 * MILLI, 4 * HOUR_MICROS);
        assertThat(clock.earliestMicros()).isLessThan(4 * HOUR_MICROS + HOUR_MICROS / 2);
    }

    /** A slow answer looked like that of a clock that was set, and what was known better was forgotten. */
    @Test
    void aClockThatOnlyDriftsIsNotTakenForOneThatWasSet() {
        ServerClock clock = new ServerClock();
        long first = System.nanoTime();
        clock.restart(first, first, 5 * HOUR_MICROS);
        long sent = first + 3_000 * MILLI;
        long behind = 5 * HOUR_MICROS + 3_000_000 - 1_500;
        clock.read(sent, sent + 900 * MILLI, behind);
        assertThat(clock.latestNanosAt(5 * HOUR_MICROS)).as("the better one").isEqualTo(first);
        clock.restart(first, first, 5 * HOUR_MICROS);
        clock.read(sent - 900 * MILLI, sent, 5 * HOUR_MICROS + 3_000_000 + 1_500);
        assertThat(clock.nanosAt(5 * HOUR_MICROS)).as("the better one").isEqualTo(first);
    }
}
