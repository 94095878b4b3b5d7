package io.github.distributedsemaphore.tck.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.tck.cluster.ClusterFigures.Strike;
import io.github.distributedsemaphore.tck.history.HeldSlot;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.Operation;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What counts as wrong where a fail-over may have two in one slot. */
class ClusterChecksTest {
    private static final int LIMIT = 1;
    private static final List<Strike> FROM_10_TO_50 = List.of(new Strike(10, 40, 50, true));
    private static final Operation FIRST = granted(1, 1, 9);

    @Test
    void twoInOneSlotAreExcused() {
        History history = new History(LIMIT, List.of(FIRST, granted(20, 1, 10)));

        assertThat(ClusterChecks.violations(history, true, true, FROM_10_TO_50)).isEmpty();
        assertThat(ClusterChecks.violations(history, true, false, FROM_10_TO_50))
                .isNotEmpty();
    }

    @Test
    void aSlotAboveTheLimitIsNot() {
        History history = new History(LIMIT, List.of(FIRST, granted(20, 2, 10)));

        assertThat(ClusterChecks.violations(history, true, true, FROM_10_TO_50))
                .singleElement()
                .asString()
                .startsWith("[1.2] slot 2 was granted where the limit is 1");
    }

    @Test
    void aChangeOfTheLimitThatALostLeaderMayHaveTakenWithItIsNot() {
        Operation resize = new Operation(
                "admin", Operation.Kind.RESIZE, 20, 21, Operation.Outcome.OK, 2, List.of(), Operation.NEVER);
        Operation back = new Operation(
                "admin", Operation.Kind.RESIZE, 22, 23, Operation.Outcome.OK, 1, List.of(), Operation.NEVER);
        History history = new History(LIMIT, List.of(FIRST, resize, back, granted(30, 2, 10)));

        assertThat(ClusterChecks.violations(history, true, true, FROM_10_TO_50)).isEmpty();
        assertThat(ClusterChecks.violations(history, true, false, FROM_10_TO_50))
                .isNotEmpty();
    }

    @Test
    void aLowerEpochIsWhileTheClusterIsNotWhole() {
        List<Long> instants = LongStream.of(20, 60).boxed().toList();

        assertThat(instants)
                .extracting(at -> ClusterChecks.violations(
                                new History(LIMIT, List.of(FIRST, granted(at, 1, 8))), true, true, FROM_10_TO_50)
                        .size())
                .containsExactly(0, 1);
    }

    private static Operation granted(long at, int slot, long epoch) {
        List<HeldSlot> held = List.of(new HeldSlot(at, slot, epoch));
        return new Operation(
                "at" + at, Operation.Kind.ACQUIRE, at, at + 1, Operation.Outcome.OK, 1, held, Operation.NEVER);
    }
}
