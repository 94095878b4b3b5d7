package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What wakes waiting callers, and that nothing keeps them waiting for long once a slot is free. */
class WakingUpTest {
    private static final long SOON = 20_000_000;

    @Test
    void aHintBringsWhatAnotherClientReleases() {
        Stage stage = new Stage(1);
        Permit other = stage.takeAsOther();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        other.release();
        stage.settle();
        assertThat(waiting).isCompleted();
    }

    @Test
    void whatIsFreedJustBeforeTheWatchBeginsIsSeenByASecondLook() {
        Stage stage = new Stage(1);
        Permit other = stage.takeAsOther();
        stage.before("watch", other::release);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(waiting).isCompleted();
    }

    @Test
    void whatIsFreedWithoutAHintIsFoundByTheTimer() {
        Stage stage = new Stage(1, "recheck=1s");
        stage.takeAsOther();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        stage.server.removeHolder(Stage.NAME, 1);
        stage.passMillis(1_000);
        assertThat(waiting).isCompleted();
    }

    @Test
    void theTimerGoesOnWhileNothingIsFree() {
        Stage stage = new Stage(1, "recheck=1s");
        stage.takeAsOther();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        int before = stage.calls("exchange");
        stage.passMillis(5_000);
        assertThat(stage.calls("exchange") - before).isBetween(5, 10);
        assertThat(waiting).isNotDone();
        stage.server.removeHolder(Stage.NAME, 1);
        stage.passMillis(1_000);
        assertThat(waiting).isCompleted();
    }

    @Test
    void farBackInALongQueueTheTimerIsSlower() {
        Stage stage = new Stage(1, "recheck=1s");
        stage.takeAsOther();
        stage.answers = answer -> answer.toBuilder().ahead(16).build();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.passMillis(1_000);
        int before = stage.calls("exchange");
        stage.passMillis(16_000);
        assertThat(stage.calls("exchange") - before).isBetween(2, 4);
        stage.server.removeHolder(Stage.NAME, 1);
        stage.passMillis(8_000);
        assertThat(waiting).isCompleted();
    }

    @Test
    void withoutAWatchTheTimerIsNoSlowerForALongQueue() {
        Stage stage = new Stage(1, "recheck=1s");
        stage.takeAsOther();
        stage.answers = answer -> answer.toBuilder().ahead(16).build();
        for (int i = 0; i < 20; i++) {
            stage.before("watch", () -> {
                throw new BackendUnavailableException("not now", null);
            });
        }
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        int before = stage.calls("exchange");
        stage.passMillis(5_000);
        assertThat(stage.calls("exchange") - before).isGreaterThanOrEqualTo(5);
        assertThat(waiting).isNotDone();
    }

    @Test
    void theKnownEndOfALeaseIsLookedForAtItsTime() {
        Stage stage = new Stage(1, "recheck=1m");
        assertThat(stage.others.tryAcquire()).isPresent();
        stage.server.crash(stage.otherBackend);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.pass(Stage.LEASE.plusMillis(1));
        assertThat(waiting).isCompleted();
    }

    /** Within a second, however slow the timer is. */
    @ParameterizedTest
    @ValueSource(strings = {"recheck=1s", "recheck=1m"})
    void aWatchThatCannotBeOpenedNowIsTriedAgain(String recheck) {
        Stage stage = new Stage(1, recheck);
        Permit other = stage.takeAsOther();
        stage.before("watch", () -> {
            throw new BackendUnavailableException("not now", null);
        });
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.passMillis(1_001);
        assertThat(stage.calls("watch")).isEqualTo(2);
        other.release();
        stage.settle();
        assertThat(waiting).isCompleted();
    }

    @Test
    void aWaiterHasAWatchAlsoIfThatOfTheOneBeforeFailed() {
        Stage stage = new Stage(1, "recheck=1m");
        Permit other = stage.takeAsOther();
        stage.before("watch", () -> {
            other.release();
            throw new BackendUnavailableException("not now", null);
        });
        CompletableFuture<Permit> first = stage.semaphore.acquireAsync();
        stage.settle();
        first.join().release();
        Permit successor = stage.takeAsOther();
        CompletableFuture<Permit> second = stage.semaphore.acquireAsync();
        stage.passMillis(1_001);
        successor.release();
        stage.settle();
        assertThat(second).isCompleted();
    }

    @Test
    void theWatchIsClosedSoonAfterTheLastWaiterLeft() {
        Stage stage = new Stage(1, "recheck=1m");
        stage.takeAsOther();
        assertThat(stage.semaphore.tryAcquire()).isEmpty();
        int timers = stage.environment.timers();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        waiting.cancel(false);
        CompletableFuture<Permit> another = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(stage.calls("watch")).as("kept over a short pause").isEqualTo(1);
        another.cancel(false);
        assertThat(stage.environment.timers()).isEqualTo(timers + 1);
        stage.passMillis(51);
        assertThat(stage.environment.timers()).isEqualTo(timers);
        CompletableFuture<?> unused = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(stage.calls("watch")).isEqualTo(2);
    }

    @Test
    void theWatchIsClosedAlsoIfItsTimeEndsWhileTheNextCallerIsGranted() {
        Stage stage = new Stage(1, "recheck=40ms");
        Permit other = stage.takeAsOther();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.passMillis(1);
        other.release();
        stage.settle();
        waiting.join().release();
        // The time at which it would have asked again.
        stage.passMillis(40);
        stage.before("exchange", () -> stage.passMillis(51));
        CompletableFuture<Permit> granted = stage.semaphore.acquireAsync();
        stage.settle();
        granted.join().close();
        stage.passMillis(1_000);

        stage.takeAsOther();
        CompletableFuture<?> unused = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(stage.calls("watch")).isEqualTo(2);
    }

    @Test
    void aWatchThatOpensAfterItsLastWaiterLeftIsClosed() {
        Stage stage = new Stage(2);
        Permit mine = stage.take();
        stage.takeAsOther();
        stage.before("watch", () -> stage.passMillis(1_100));
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync(Duration.ofMillis(400));
        stage.passMillis(2_000);
        assertThat(waiting).isCompletedExceptionally();

        CompletableFuture<?> unused = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(stage.calls("watch")).isEqualTo(2);
        assertThat(mine.isValid()).isTrue();
    }

    @Test
    void aWatchThatOpensForAnotherWaiterWhichIsServedAtOnceIsClosed() {
        Stage stage = new Stage(1);
        Permit other = stage.takeAsOther();
        List<CompletableFuture<Permit>> late = new ArrayList<>();
        stage.before("watch", () -> {
            stage.passMillis(1_100);
            late.add(stage.semaphore.acquireAsync());
            other.release();
        });
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync(Duration.ofMillis(400));
        stage.passMillis(2_000);
        assertThat(waiting).isCompletedExceptionally();
        late.get(0).join().close();

        stage.takeAsOther();
        CompletableFuture<?> unused = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(stage.calls("watch")).isEqualTo(2);
    }

    /** Whether the backend says to the other client that the client under test waits. */
    private static boolean isSaidToWait(Stage stage, Permit other) {
        List<Boolean> said = new ArrayList<>();
        stage.answers = answer -> {
            said.add(answer.othersWaiting());
            return answer;
        };
        other.release();
        return said.get(0);
    }

    /** What is freed next would be kept for it for a while. */
    @Test
    void aClientWhoseWaiterGivesUpBeforeItIsRefusedIsSoonSaidToWaitNoMore() {
        Stage stage = new Stage(1, "recheck=1m");
        Permit other = stage.takeAsOther();
        List<CompletableFuture<Permit>> waiting = new ArrayList<>();
        stage.before("exchange", () -> waiting.get(0).cancel(false));
        waiting.add(stage.semaphore.acquireAsync());
        stage.settle();
        assertThat(stage.calls("exchange")).isEqualTo(1);

        stage.passMillis(51);

        assertThat(isSaidToWait(stage, other)).isFalse();
    }

    @Test
    void aClientWithoutAWatchWhoseWaiterGivesUpIsSoonSaidToWaitNoMore() {
        Stage stage = new Stage(1, "recheck=1m");
        Permit other = stage.takeAsOther();
        stage.before("watch", () -> {
            throw new BackendUnavailableException("not now", null);
        });
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        waiting.cancel(false);

        stage.passMillis(51);

        assertThat(isSaidToWait(stage, other)).isFalse();
    }

    @Test
    void theWatchIsKeptFromOneWaiterToTheNext() {
        Stage stage = new Stage(1, "recheck=40ms");
        Permit other = stage.takeAsOther();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.passMillis(19);
        other.release();
        stage.settle();
        waiting.join().release();
        stage.takeAsOther();
        // The time at which the first waiter would have asked again.
        stage.passMillis(22);
        CompletableFuture<?> unused = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(stage.calls("watch")).isEqualTo(1);
    }

    @Test
    void whoStandsBehindOneThatGivesUpIsAskedForAtOnce() {
        Stage stage = new Stage(2, "recheck=1m");
        stage.takeAsOther();
        CompletableFuture<PermitGroup> two = stage.semaphore.acquireAsync(2, Duration.ofHours(1));
        CompletableFuture<Permit> one = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(one).isNotDone();
        two.cancel(false);
        stage.settle();
        assertThat(one).isCompleted();
    }

    @Test
    void whoComesWhileAnotherIsServedIsAskedForAlsoIfAThirdIsRefused() {
        Stage stage = new Stage(6, "recheck=1m");
        PermitGroup three = stage.others.tryAcquire(3).orElseThrow();
        PermitGroup rest = stage.others.tryAcquire(3).orElseThrow();
        CompletableFuture<Permit> first = stage.semaphore.acquireAsync();
        stage.settle();
        List<CompletableFuture<Permit>> late = new ArrayList<>();
        stage.before("exchange", () -> late.add(stage.semaphore.acquireAsync()));
        three.close();
        CompletableFuture<PermitGroup> attempt = stage.semaphore.acquireAsync(6, Duration.ZERO);
        stage.settle();
        assertThat(attempt).isCompletedExceptionally();
        assertThat(first).isCompleted();
        assertThat(late).singleElement().satisfies(call -> assertThat(call).isCompleted());
        rest.close();
    }

    @Test
    void aTimerForWhichThereIsNoMemoryOnceIsSetAgain() {
        Stage stage = new Stage(1, "recheck=1s");
        stage.takeAsOther();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        stage.environment.failNextTimerOf("lookLater");
        stage.passMillis(1_000);
        stage.server.removeHolder(Stage.NAME, 1);
        stage.passMillis(1_000);
        assertThat(waiting).isCompleted();
    }

    /** An adapter may name a time that is past, such as that of a lease whose end it cannot enter. */
    @Test
    void anEarliestTimeThatIsPastIsNoReasonToAskWithoutAPause() {
        Stage stage = new Stage(1, "recheck=1m");
        stage.takeAsOther();
        stage.answers = answer -> answer.toBuilder()
                .recheck(Deadline.at(stage.environment.nanoTime()))
                .build();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        int before = stage.calls("exchange");
        stage.passMillis(100);
        assertThat(stage.calls("exchange") - before).isBetween(50, 110);
        waiting.cancel(false);
    }

    @Test
    void aSlotGrantedToACallThatHasEndedIsNotLostOnAWaiterForTwo() {
        Stage stage = new Stage(2, "recheck=1m");
        Permit other = stage.takeAsOther();
        CompletableFuture<PermitGroup> two = stage.semaphore.acquireAsync(2, Duration.ofHours(1));
        stage.settle();
        CompletableFuture<Permit> attempt = stage.semaphore.acquireAsync(Duration.ZERO);
        stage.after("exchange", () -> {
            attempt.cancel(false);
            stage.server.removeHolder(Stage.NAME, other.slot());
        });
        stage.settle();
        assertThat(two).isCompleted();
    }

    @Test
    void theTurnOfOthersEndsAlsoWhenAnEarlierTimerFiresInBetween() {
        Stage stage = new Stage(2, "handOffs=0&turn=200ms&recheck=1s");
        List<Permit> others = new ArrayList<>(List.of(stage.takeAsOther()));
        Permit mine = stage.take();
        CompletableFuture<?> unused = stage.others.acquireAsync().thenAccept(others::add);
        stage.settle();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        // The timer of the refusal fires at 750 ms, the turn lasts from 700 to 900 ms.
        stage.passMillis(700);
        mine.release();
        stage.settle();
        assertThat(others).as("others had their turn").hasSize(2);
        others.get(0).release();
        stage.settle();
        assertThat(waiting).as("their turn").isNotDone();
        stage.environment.pass(200_000_000 + SOON);
        assertThat(waiting).isCompleted();
    }

    @Test
    void aFirstWaiterThatComesDuringTheTurnOfOthersIsServedAfterIt() {
        Stage stage = new Stage(2, "handOffs=0&turn=200ms&recheck=1s");
        stage.takeAsOther();
        Permit mine = stage.take();
        CompletableFuture<?> unused = stage.others.acquireAsync();
        stage.settle();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        stage.passMillis(700);
        mine.release();
        stage.settle();
        waiting.cancel(false);
        stage.server.removeHolder(Stage.NAME, 1);
        stage.passMillis(110);
        CompletableFuture<Permit> late = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(late).isNotDone();
        stage.environment.pass(90_000_000 + SOON);
        assertThat(late).isCompleted();
    }
}
