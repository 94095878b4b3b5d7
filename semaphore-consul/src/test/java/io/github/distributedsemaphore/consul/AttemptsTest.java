package io.github.distributedsemaphore.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.Deadline;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class AttemptsTest {
    @Test
    void pausesAreDifferentAndGrowUpToTheirBound() {
        Set<Long> first = new HashSet<>();
        Set<Long> later = new HashSet<>();
        for (int i = 0; i < 50; i++) {
            Attempts attempts = new Attempts(Deadline.after(System.nanoTime(), Duration.ofMinutes(1)));
            attempts.goesOn();
            first.add(attempts.backOffNanos());
            for (int failed = 1; failed < 20; failed++) {
                attempts.goesOn();
            }
            later.add(attempts.backOffNanos());
        }
        assertThat(first)
                .hasSizeGreaterThan(40)
                .allSatisfy(nanos -> assertThat(nanos).isBetween(0L, 1_000_000L));
        assertThat(later)
                .hasSizeGreaterThan(40)
                .anySatisfy(nanos -> assertThat(nanos).isGreaterThan(5_000_000L))
                .allSatisfy(nanos -> assertThat(nanos).isBetween(0L, 50_000_000L));
    }

    @Test
    void timeIsLeftToFindOutWhatAChangeDid() {
        long now = System.nanoTime();
        Attempts attempts = new Attempts(Deadline.after(now, Duration.ofMinutes(1)));
        assertThat(Duration.ofNanos(attempts.endOfChange().nanosFrom(now)))
                .isBetween(Duration.ofSeconds(44), Duration.ofSeconds(46));
        assertThat(new Attempts(Deadline.at(now)).goesOn()).isFalse();
    }

    @Test
    void noAttemptBeginsThatCannotComeToItsEnd() {
        Attempts attempts = new Attempts(Deadline.after(System.nanoTime(), Duration.ofMillis(200)));
        long begun = System.nanoTime();
        await("more than half of the time is over").until(() -> System.nanoTime() - begun > 110_000_000);
        assertThat(attempts.goesOn()).isFalse();
    }

    @Test
    void aReleaseIsForcedOnceAfterAFewConflicts() {
        Attempts attempts = new Attempts(Deadline.after(System.nanoTime(), Duration.ofMinutes(1)));
        int forced = 0;
        for (int failed = 0; failed < 20; failed++) {
            forced += attempts.isTimeToForceRelease() ? 1 : 0;
            assertThat(attempts.goesOn()).isTrue();
        }
        assertThat(forced).isEqualTo(1);
    }
}
