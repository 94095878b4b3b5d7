package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.SemaphoreListener;
import io.github.distributedsemaphore.SemaphoreStatistics;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What a client counts, and what it tells its listeners of. */
class StatisticsTest {
    private final List<String> told = new ArrayList<>();

    private final class Recorder implements SemaphoreListener {
        @Override
        public void onAcquired(String semaphoreName, int slot, long waitedNanos, boolean handedOff) {
            told.add("acquired " + slot + " after " + millis(waitedNanos) + (handedOff ? ", handed off" : ""));
        }

        @Override
        public void onRefused(String semaphoreName) {
            told.add("refused");
        }

        @Override
        public void onTimedOut(String semaphoreName, long waitedNanos) {
            told.add("timed out after " + millis(waitedNanos));
        }

        @Override
        public void onWithdrawn(String semaphoreName, long waitedNanos) {
            told.add("withdrawn after " + millis(waitedNanos));
        }

        @Override
        public void onFailed(String semaphoreName, long waitedNanos) {
            told.add("failed after " + millis(waitedNanos));
        }

        @Override
        public void onReleased(String semaphoreName, int slot, long heldNanos) {
            told.add("released " + slot + " after " + (heldNanos < 0 ? "?" : millis(heldNanos)));
        }

        @Override
        public void onLost(String semaphoreName, int slot, LossCause cause) {
            told.add("lost " + slot + " " + cause);
        }

        @Override
        public void onSessionEnded(String semaphoreName) {
            told.add("session ended at " + semaphoreName);
        }

        private static String millis(long nanos) {
            return nanos / 1_000_000 + " ms";
        }
    }

    @Test
    void grantsReleasesAndRefusalsAreCountedAndTold() {
        Stage stage = new Stage(2);
        stage.client.addListener(new Recorder());
        PermitGroup group = stage.semaphore.tryAcquire(2).orElseThrow();
        assertThat(stage.semaphore.tryAcquire()).isEmpty();
        SemaphoreStatistics held = stage.semaphore.statistics();
        assertThat(held.held()).isEqualTo(2);
        assertThat(held.waiting()).isZero();
        assertThat(held.grantedByBackend()).isEqualTo(2);
        assertThat(held.refused()).isEqualTo(1);
        assertThat(held.exchanges()).isEqualTo(2);
        assertThat(held.validUntil()).isEqualTo(group.validUntil());
        stage.passMillis(5);
        group.close();
        SemaphoreStatistics after = stage.semaphore.statistics();
        assertThat(after.held()).isZero();
        assertThat(after.released()).isEqualTo(2);
        assertThat(after.validUntil()).isEqualTo(Deadline.NEVER);
        assertThat(told)
                .containsExactly(
                        "acquired 1 after 0 ms",
                        "acquired 2 after 0 ms",
                        "refused",
                        "released 1 after 5 ms",
                        "released 2 after 5 ms");
    }

    @Test
    void aHandOffIsNoGrantOfTheBackend() {
        Stage stage = new Stage(1);
        stage.client.addListener(new Recorder());
        Permit first = stage.take();
        CompletableFuture<Permit> next = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(stage.semaphore.statistics().waiting()).isEqualTo(1);
        first.close();
        stage.settle();
        assertThat(next).isCompleted();
        SemaphoreStatistics now = stage.semaphore.statistics();
        assertThat(now.waiting()).isZero();
        assertThat(now.held()).isEqualTo(1);
        assertThat(now.grantedByBackend()).isEqualTo(1);
        assertThat(now.grantedByHandOff()).isEqualTo(1);
        assertThat(told).contains("acquired 1 after 0 ms, handed off");
    }

    @Test
    void callsThatEndWithoutAPermitAreCountedByTheirEndAndLeaveNoWaiter() {
        Stage stage = new Stage(1, "outagePatience=0s");
        stage.client.addListener(new Recorder());
        stage.takeAsOther();
        CompletableFuture<Permit> late = stage.semaphore.acquireAsync(Duration.ofMillis(20));
        CompletableFuture<Permit> cancelled = stage.semaphore.acquireAsync();
        CompletableFuture<Permit> attempt = stage.semaphore.acquireAsync(Duration.ZERO);
        stage.passMillis(10);
        cancelled.cancel(false);
        stage.passMillis(100);
        stage.outage("exchange", new BackendUnavailableException("down", null));
        assertThatThrownBy(stage.semaphore::tryAcquire).isInstanceOf(BackendUnavailableException.class);
        assertThat(late).isCompletedExceptionally();
        assertThat(attempt).isCompletedExceptionally();
        SemaphoreStatistics now = stage.semaphore.statistics();
        assertThat(now.waiting()).isZero();
        assertThat(List.of(now.timedOut(), now.withdrawn(), now.refused(), now.failed()))
                .containsOnly(1L);
        assertThat(now.failedExchanges()).isEqualTo(1);
        assertThat(told)
                .containsExactly("refused", "withdrawn after 10 ms", "timed out after 20 ms", "failed after 0 ms");
    }

    @Test
    void aCallOfAThreadThatWasInterruptedBeforeIsWithdrawn() {
        Stage stage = new Stage(1);
        stage.client.addListener(new Recorder());
        for (Duration maxWait : List.of(Duration.ZERO, Duration.ofSeconds(1))) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> stage.semaphore.tryAcquire(maxWait)).isInstanceOf(InterruptedException.class);
        }
        assertThat(stage.semaphore.statistics().withdrawn()).isEqualTo(2);
        assertThat(told).containsExactly("withdrawn after 0 ms", "withdrawn after 0 ms");
        assertThat(stage.calls("exchange")).isZero();
    }

    @Test
    void callsThatComeWhenTheClientTakesNoMorePermitsOrIsClosedHaveFailed() {
        Stage stage = new Stage(1);
        stage.client.addListener(new Recorder());
        stage.client.stopAcquiring();
        assertThatThrownBy(stage.semaphore::tryAcquire).isInstanceOf(SemaphoreClosedException.class);
        assertThat(stage.semaphore.statistics().failed()).isEqualTo(1);
        stage.client.close();
        assertThatThrownBy(stage.semaphore::tryAcquire).isInstanceOf(SemaphoreClosedException.class);
        assertThat(stage.semaphore.statistics().failed()).isEqualTo(2);
        assertThat(told).containsExactly("failed after 0 ms", "failed after 0 ms");
    }

    @Test
    void lossesAreCountedByTheirCause() {
        Stage stage = new Stage(3);
        Permit early = stage.take();
        stage.client.addListener(new Recorder());
        stage.take();
        stage.take();
        early.close();
        stage.server.revoke(Stage.NAME, 2, "because");
        stage.server.endSessions(stage.backend, "because");
        stage.settle();
        Permit unrenewed = stage.take();
        stage.outage("renew", new BackendUnavailableException("down", null));
        stage.pass(Stage.LEASE);
        assertThat(unrenewed.isValid()).isFalse();
        stage.outageOver();
        stage.take();
        stage.client.abort();
        SemaphoreStatistics now = stage.semaphore.statistics();
        assertThat(now.lost()).hasSize(LossCause.values().length);
        assertThat(now.lost().values()).containsOnly(1L);
        assertThat(now.failedRenewals()).isPositive();
        assertThat(told)
                .contains(
                        "released 1 after ?",
                        "lost 2 TAKEN_BY_BACKEND",
                        "session ended at staged",
                        "lost 3 SESSION_ENDED",
                        "lost 1 NOT_RENEWED_IN_TIME",
                        "lost 1 CLIENT_ABORTED");
    }

    @Test
    void exchangesAndRenewalsAreTold() {
        Stage stage = new Stage(1);
        SemaphoreListener recorder = new SemaphoreListener() {
            @Override
            public void onExchange(String semaphoreName, int calls, int givenBack, long tookNanos, boolean answered) {
                told.add(calls + " calls, " + givenBack + " given back, " + tookNanos + " ns, " + answered);
            }

            @Override
            public void onRenewal(String semaphoreName, int holds, long tookNanos, boolean answered) {
                told.add("renewed " + holds + ", " + tookNanos + " ns, " + answered);
            }
        };
        stage.client.addListener(recorder);
        stage.after("exchange", () -> stage.environment.freeze(7));
        Permit permit = stage.take();
        stage.pass(Stage.LEASE.dividedBy(3));
        permit.close();
        assertThat(stage.semaphore.statistics().renewals()).isEqualTo(1);
        stage.client.removeListener(recorder);
        stage.take();
        assertThat(told)
                .containsExactly(
                        "1 calls, 0 given back, 7 ns, true",
                        "renewed 1, 0 ns, true",
                        "0 calls, 1 given back, 0 ns, true");
    }

    @Test
    void aListenerThatThrowsHarmsNobodyAndOneMayLookAtTheStatistics() {
        Stage stage = new Stage(1);
        stage.client.addListener(new SemaphoreListener() {
            @Override
            public void onAcquired(String semaphoreName, int slot, long waitedNanos, boolean handedOff) {
                throw new IllegalStateException("a listener's bug");
            }
        });
        stage.client.addListener(new SemaphoreListener() {
            @Override
            public void onAcquired(String semaphoreName, int slot, long waitedNanos, boolean handedOff) {
                throw WithPermitTest.<RuntimeException>undeclared(new IOException("that of a listener in Kotlin"));
            }
        });
        stage.client.addListener(new SemaphoreListener() {
            @Override
            public void onAcquired(String semaphoreName, int slot, long waitedNanos, boolean handedOff) {
                told.add("held " + stage.semaphore.statistics().held());
            }
        });
        stage.take().close();
        stage.take().close();
        assertThat(told).containsExactly("held 1", "held 1");
    }
}
