package io.github.distributedsemaphore.tck.history;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The states that a history shows are found, and no others. */
class StatesReachedTest {
    private static Map<Sometimes, Long> reached(String... lines) {
        return HistoryChecks.reached(History.parse(List.of(lines)));
    }

    @Test
    void nothingOfInterest() {
        assertThat(reached(
                        "limit 2",
                        "a acquire 0 10 ok 1 1:1@1 never",
                        "a release 50 60 ok 1 1:1@1 50",
                        "b acquire 70 80 ok 1 2:1@2 never"))
                .isEmpty();
    }

    @Test
    void contention() {
        assertThat(reached(
                        "limit 1",
                        "a acquire 0 10 ok 1 1:1@1 never",
                        "b acquire 20 60 ok 1 2:1@2 never",
                        "c try 30 40 refused 1 - never",
                        "d acquire 30 40 refused 1 - never",
                        "a release 50 55 ok 1 1:1@1 50"))
                .isEqualTo(Map.of(
                        Sometimes.ALL_HELD, 1L,
                        Sometimes.REFUSED, 1L,
                        Sometimes.WAITED, 1L,
                        Sometimes.HANDED_ON, 1L));
    }

    @Test
    void whatNobodyKnows() {
        assertThat(reached(
                        "limit 2",
                        "a acquire 0 10 ok 1 1:1@1 never",
                        "a release 50 60 unknown 1 1:1@1 50",
                        "b acquire 20 60 unknown 1 - never",
                        "c try 20 60 unknown 1 - never"))
                .isEqualTo(Map.of(
                        Sometimes.RELEASE_UNKNOWN, 1L,
                        Sometimes.RELEASE_BROKEN_OFF, 1L,
                        Sometimes.ACQUIRE_UNKNOWN, 2L,
                        Sometimes.ACQUIRE_BROKEN_OFF, 2L));
    }

    @Test
    void lossesAndDeaths() {
        assertThat(reached(
                        "limit 4",
                        "a acquire 0 10 ok 1 1:1@1 never",
                        "a loss 20 20 ok 1 1:1@1 never",
                        "a release 50 60 ok 1 1:1@1 10",
                        "b acquire 0 10 ok 1 2:2@1 never",
                        "b death 30 30 ok 0 - never",
                        "c acquire 0 10 ok 1 3:1@2 never",
                        "c release 11 12 ok 1 3:1@2 11",
                        "c death 30 30 ok 0 - never"))
                .isEqualTo(Map.of(Sometimes.LOST, 1L, Sometimes.RELEASED_AFTER_LOSS, 1L, Sometimes.KILLED_HOLDING, 1L));
    }

    @Test
    void aResizeCountsIfSomebodyHolds() {
        assertThat(reached(
                        "limit 3",
                        "admin resize 0 5 ok 2 - never",
                        "a acquire 10 20 ok 1 1:1@1 never",
                        "admin resize 30 35 ok 3 - never"))
                .isEqualTo(Map.of(Sometimes.RESIZED_UNDER_HOLDERS, 1L));
    }
}
