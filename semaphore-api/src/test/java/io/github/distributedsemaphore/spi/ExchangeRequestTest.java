package io.github.distributedsemaphore.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Of which kind the callers of a request are. */
class ExchangeRequestTest {
    private static ExchangeRequest request(int wants, boolean waiting, int attempts) {
        return new ExchangeRequest(List.of(), List.of(1, 1, 1).subList(0, wants), 1, waiting, attempts);
    }

    @Test
    void theFirstWantsAreAttemptsAndTheOthersWait() {
        ExchangeRequest both = request(3, true, 2);
        assertThat(both.waits(1)).isFalse();
        assertThat(both.waits(2)).isTrue();
        assertThat(both.hasAttempts()).isTrue();
        assertThat(both.hasWaiters()).isTrue();
    }

    @Test
    void allMayBeOfOneKind() {
        ExchangeRequest attempts = request(2, true, 2);
        assertThat(attempts.hasAttempts()).isTrue();
        assertThat(attempts.hasWaiters()).isFalse();
        ExchangeRequest waiters = request(2, true, 0);
        assertThat(waiters.hasAttempts()).isFalse();
        assertThat(waiters.hasWaiters()).isTrue();
    }

    @Test
    void whereNobodyWaitsAllAreAttemptsCountedOrNot() {
        ExchangeRequest uncounted = request(2, false, 0);
        assertThat(uncounted.waits(1)).isFalse();
        assertThat(uncounted.hasAttempts()).isTrue();
        assertThat(uncounted.hasWaiters()).isFalse();
    }

    @Test
    void withoutWantsThereIsNeither() {
        for (boolean waiting : new boolean[] {false, true}) {
            ExchangeRequest none = request(0, waiting, 0);
            assertThat(none.hasAttempts()).isFalse();
            assertThat(none.hasWaiters()).isFalse();
        }
    }
}
