package io.github.distributedsemaphore.tck.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.tck.cluster.ClusterFigures.Strike;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.history.Operation;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ClusterFiguresTest {
    private final HistoryRecorder recorder = new HistoryRecorder("client", false);

    private static long at(int second) {
        return TimeUnit.SECONDS.toNanos(second);
    }

    private void granted(int second) {
        recorder.add(new Operation(
                "client",
                Operation.Kind.ACQUIRE,
                at(second),
                at(second),
                Operation.Outcome.OK,
                1,
                List.of(recorder.held(second, 0)),
                Operation.NEVER));
    }

    private static Strike strike(int begun, int whole) {
        return new Strike(at(begun), at(whole), at(whole), false);
    }

    private ClusterFigures figures(Strike... strikes) {
        History history = recorder.history(100);
        return ClusterFigures.of(ClusterFault.LEADER_KILLED, List.of(strikes), 0, history, Duration.ofSeconds(10), 0);
    }

    @Test
    void outagesAreLeftOutOfTheRate() {
        for (int second : new int[] {1, 2, 7, 8, 9}) {
            granted(second);
        }
        assertThat(figures(strike(2, 6)).grantsPerSecond()).isEqualTo(1.0);
    }

    /** The second strike meets a cluster that still grants nothing. */
    @Test
    void anOutageOfTwoStrikesIsLeftOutOnce() {
        for (int second : new int[] {1, 2, 7, 8, 9}) {
            granted(second);
        }
        ClusterFigures figures = figures(strike(2, 3), strike(4, 6));
        assertThat(figures.grantsPerSecond()).isEqualTo(1.0);
        assertThat(figures.outageWorstMillis()).isEqualTo(5_000);
    }
}
