package io.github.distributedsemaphore;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class DeadlineTest {
    private static final long NEAR_OVERFLOW = Math.subtractExact(Long.MAX_VALUE, 5);

    @Test
    void comesAtItsInstantAlsoWhereTheClockOverflows() {
        Deadline deadline = Deadline.after(NEAR_OVERFLOW, Duration.ofNanos(10));
        assertThat(deadline.isPast(NEAR_OVERFLOW)).isFalse();
        assertThat(deadline.isPast(NEAR_OVERFLOW + 9)).isFalse();
        assertThat(deadline.isPast(NEAR_OVERFLOW + 10)).isTrue();
        assertThat(deadline.nanosFrom(NEAR_OVERFLOW)).isEqualTo(10);
        assertThat(deadline.nanosFrom(NEAR_OVERFLOW + 11)).isZero();
    }

    @Test
    void theEarlierComesFirstAlsoWhereTheClockOverflows() {
        Deadline before = Deadline.at(NEAR_OVERFLOW);
        Deadline after = Deadline.at(NEAR_OVERFLOW + 10);
        assertThat(before.isBefore(after)).isTrue();
        assertThat(after.isBefore(before)).isFalse();
        assertThat(before.isBefore(Deadline.at(NEAR_OVERFLOW))).isFalse();
        assertThat(after.earlier(before)).isSameAs(before);
        assertThat(before.earlier(after)).isSameAs(before);
    }

    @Test
    void neverDoesNotCome() {
        for (long now : new long[] {0, Long.MAX_VALUE, Long.MIN_VALUE, NEAR_OVERFLOW}) {
            assertThat(Deadline.NEVER.isPast(now)).isFalse();
            assertThat(Deadline.NEVER.nanosFrom(now)).isEqualTo(Long.MAX_VALUE);
            assertThat(Deadline.at(now).isBefore(Deadline.NEVER)).isTrue();
            assertThat(Deadline.NEVER.isBefore(Deadline.at(now))).isFalse();
            assertThat(Deadline.NEVER.earlier(Deadline.at(now))).isEqualTo(Deadline.at(now));
        }
        assertThat(Deadline.NEVER.isBefore(Deadline.NEVER)).isFalse();
        assertThat(Deadline.NEVER.isNever()).isTrue();
        assertThat(Deadline.NEVER).isNotEqualTo(Deadline.at(0)).hasToString("never");
    }

    @Test
    void aHundredYearsAndMoreIsNeverAndNegativeIsNow() {
        Duration century = Duration.ofDays(36_500);
        assertThat(Deadline.after(5, century)).isSameAs(Deadline.NEVER);
        assertThat(Deadline.after(5, Duration.ofSeconds(Long.MAX_VALUE))).isSameAs(Deadline.NEVER);
        assertThat(Deadline.after(5, century.minusNanos(1)).isNever()).isFalse();
        assertThat(Deadline.after(NEAR_OVERFLOW, century.minusNanos(1)).isPast(NEAR_OVERFLOW))
                .isFalse();
        assertThat(Deadline.after(5, Duration.ofSeconds(Long.MIN_VALUE))).isEqualTo(Deadline.at(5));
    }

    @Test
    void equalInstantsAreEqual() {
        assertThat(Deadline.at(7)).isEqualTo(Deadline.at(7)).hasSameHashCodeAs(Deadline.at(7));
        assertThat(Deadline.at(7)).isNotEqualTo(Deadline.at(8)).isNotEqualTo(null);
    }

    @Test
    void remainingCountsFromNow() {
        assertThat(Deadline.after(System.nanoTime(), Duration.ofHours(1)).remaining())
                .isBetween(Duration.ofMinutes(59), Duration.ofHours(1));
        assertThat(Deadline.at(System.nanoTime()).remaining()).isZero();
        assertThat(Deadline.NEVER.remaining()).isGreaterThan(Duration.ofDays(365 * 290));
    }
}
