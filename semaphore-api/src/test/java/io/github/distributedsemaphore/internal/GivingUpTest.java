package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Each way to give up, at the moment when the permit is granted: either the caller has it or nobody misses it. */
class GivingUpTest {
    @AfterEach
    void noInterruptIsLeft() {
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void aTimeOutWhileTheGrantIsOnItsWayStillGetsThePermit() throws InterruptedException {
        Stage stage = new Stage(1);
        stage.after("exchange", () -> stage.environment.freeze(2_000_000));
        assertThat(stage.semaphore.tryAcquire(Duration.ofMillis(1))).isPresent();
    }

    @Test
    void anAsyncTimeOutWhileTheGrantIsOnItsWayStillGetsThePermit() {
        Stage stage = new Stage(1);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync(Duration.ofMillis(1));
        stage.after("exchange", () -> stage.passMillis(2));
        stage.settle();
        assertThat(waiting).isCompleted();
    }

    @Test
    void aTimeOutTakesNoLongerThanItIsAllowedAndLeavesNoTrace() throws InterruptedException {
        Stage stage = new Stage(1);
        Permit other = stage.takeAsOther();
        long start = stage.environment.nanoTime();
        assertThat(stage.semaphore.tryAcquire(Duration.ofMillis(300))).isEmpty();
        assertThat(stage.environment.nanoTime() - start).isEqualTo(300_000_000);
        other.release();
        stage.settle();
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void theTimeIsNamedWhenItIsOver() {
        Stage stage = new Stage(1);
        stage.takeAsOther();
        assertThatThrownBy(() -> stage.semaphore.acquire(Duration.ofMillis(300)))
                .isInstanceOf(SemaphoreTimeoutException.class)
                .hasMessageContaining("300ms")
                .hasMessageContaining(Stage.NAME);
    }

    @Test
    void zeroIsExactlyOneAttempt() throws InterruptedException {
        Stage stage = new Stage(1);
        assertThat(stage.semaphore.tryAcquire(Duration.ZERO)).isPresent();
        assertThat(stage.semaphore.tryAcquire(Duration.ofDays(-1))).isEmpty();
        assertThat(stage.calls("exchange")).isEqualTo(2);
        assertThat(stage.calls("watch")).isZero();
    }

    @Test
    void aWaiterTheBackendWasNeverAskedForGetsOneAttemptAtItsDeadline() {
        Stage stage = new Stage(3, "recheck=1m");
        stage.takeAsOther();
        assertThat(stage.semaphore.acquireAsync(3, Duration.ofHours(1))).isNotDone();
        stage.settle();
        // There is a slot for this one, but it stands behind one that wants more.
        CompletableFuture<Permit> behind = stage.semaphore.acquireAsync(Duration.ofMillis(10));
        stage.settle();
        assertThat(behind).isNotDone();
        stage.passMillis(10);
        assertThat(behind).isCompleted();
    }

    @Test
    void theLastAttemptOfAWaiterThatWasNeverAskedForCanBeRefused() {
        Stage stage = new Stage(2, "recheck=1m");
        stage.takeAsOther();
        stage.takeAsOther();
        assertThat(stage.semaphore.acquireAsync(2, Duration.ofHours(1))).isNotDone();
        stage.settle();
        int before = stage.calls("exchange");
        CompletableFuture<Permit> behind = stage.semaphore.acquireAsync(Duration.ofMillis(10));
        stage.passMillis(10);
        assertThat(behind).isCompletedExceptionally();
        assertThat(stage.calls("exchange")).isEqualTo(before + 1);
        assertThatThrownBy(behind::join).hasCauseInstanceOf(SemaphoreTimeoutException.class);
    }

    @Test
    void aCallerThatServesOthersStillKeepsItsTime() throws InterruptedException {
        Stage stage = new Stage(1).starting();
        stage.takeAsOther();
        stage.network = Runnable::run;
        // The semaphore is watched already, so that nothing has to be left to a worker.
        assertThat(stage.semaphore.acquireAsync()).isNotDone();
        stage.settle();
        // While its thread exchanges, somebody always brings the next piece of work.
        bringWorkForEver(stage, 10_000_000);
        assertThat(stage.semaphore.acquireAsync(Duration.ZERO)).isNotDone();
        long start = stage.environment.nanoTime();
        assertThat(stage.semaphore.tryAcquire(Duration.ofMillis(100))).isEmpty();
        assertThat(stage.environment.nanoTime() - start).isLessThanOrEqualTo(150_000_000);
    }

    @Test
    void aCallerThatServesOthersCanBeInterrupted() {
        Stage stage = new Stage(1).starting();
        stage.takeAsOther();
        stage.before("exchange", () -> Thread.currentThread().interrupt());
        bringWorkForEver(stage, 10_000_000);
        assertThatThrownBy(stage.semaphore::acquire).isInstanceOf(InterruptedException.class);
        assertThat(stage.calls("exchange")).isLessThan(5);
    }

    @Test
    void anAnswerThatDoesNotComeHoldsNoCallerBeyondItsTime() throws InterruptedException {
        Stage stage = new Stage(1).starting();
        List<Runnable> swallowed = stall(stage);
        long start = stage.environment.nanoTime();
        assertThat(stage.semaphore.tryAcquire(Duration.ofMillis(100))).isEmpty();
        assertThat(stage.environment.nanoTime() - start).isBetween(100_000_000L, 200_000_000L);
        assertThat(swallowed).hasSize(1);
        swallowed.forEach(Runnable::run);
        stage.settle();
        assertThat(stage.free()).as("what came late has gone back").isEqualTo(1);
    }

    @Test
    void anAnswerThatDoesNotComeHoldsNoCallerThatIsInterrupted() {
        Stage stage = new Stage(1).starting();
        List<Runnable> swallowed = stall(stage);
        stage.environment.whenParked(() -> Thread.currentThread().interrupt());
        long start = stage.environment.nanoTime();
        assertThatThrownBy(stage.semaphore::acquire).isInstanceOf(InterruptedException.class);
        assertThat(stage.environment.nanoTime()).isEqualTo(start);
        stage.environment.whenParked(() -> {});
        swallowed.forEach(Runnable::run);
        stage.settle();
        assertThat(stage.free()).as("what came late has gone back").isEqualTo(1);
    }

    @Test
    void anAnswerThatAnotherCallAwaitsHoldsNobodyBeyondItsTime() throws InterruptedException {
        Stage stage = new Stage(2).starting();
        List<Runnable> swallowed = stall(stage);
        List<CompletableFuture<Permit>> async = new ArrayList<>();
        stage.environment.whenParked(() -> {
            stage.environment.whenParked(() -> {});
            async.add(stage.semaphore.acquireAsync(Duration.ofMillis(30)));
        });
        assertThat(stage.semaphore.tryAcquire(Duration.ofMillis(100))).isEmpty();
        stage.settle();
        assertThat(async.get(0)).isCompletedExceptionally();
        swallowed.forEach(Runnable::run);
        stage.settle();
        assertThat(stage.free()).isEqualTo(2);
    }

    @Test
    void anAnswerThatComesAMomentLateStillCounts() throws InterruptedException {
        Stage stage = new Stage(1).starting();
        stage.network = task -> {
            Environment.Timer unused = stage.environment.schedule(task, 120_000_000);
        };
        assertThat(stage.semaphore.tryAcquire(Duration.ofMillis(100))).isPresent();
    }

    /** What the client sends from now on is kept. */
    private static List<Runnable> stall(Stage stage) {
        List<Runnable> swallowed = new ArrayList<>();
        stage.network = swallowed::add;
        return swallowed;
    }

    private static void bringWorkForEver(Stage stage, long nanosEach) {
        for (int i = 0; i < 50; i++) {
            stage.before("exchange", () -> {
                stage.environment.freeze(nanosEach);
                assertThat(stage.semaphore.acquireAsync(Duration.ZERO)).isNotDone();
            });
        }
    }

    @Test
    void aWaiterBehindOthersTimesOutInTime() {
        Stage stage = new Stage(1);
        stage.takeAsOther();
        List<CompletableFuture<Permit>> waiting = new ArrayList<>();
        for (int millis = 50; millis > 0; millis -= 10) {
            waiting.add(stage.semaphore.acquireAsync(Duration.ofMillis(millis)));
        }
        for (int i = 4; i >= 0; i--) {
            assertThat(waiting.get(i)).isNotDone();
            stage.passMillis(10);
            assertThat(waiting.get(i)).isCompletedExceptionally();
        }
    }

    @Test
    void anInterruptWhileTheGrantIsOnItsWayGetsThePermitAndKeepsTheInterrupt() throws InterruptedException {
        Stage stage = new Stage(1);
        stage.after("exchange", () -> Thread.currentThread().interrupt());
        Permit permit = stage.semaphore.acquire();
        assertThat(permit.isValid()).isTrue();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void anInterruptDuringTheWaitLeavesNoTrace() throws InterruptedException {
        Stage stage = new Stage(1);
        Permit other = stage.takeAsOther();
        stage.environment.whenParked(() -> Thread.currentThread().interrupt());
        assertThatThrownBy(stage.semaphore::acquire).isInstanceOf(InterruptedException.class);
        other.release();
        stage.settle();
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void anInterruptBeforeTheCallAsksForNothing() {
        Stage stage = new Stage(1);
        for (Duration wait : List.of(Duration.ZERO, Duration.ofSeconds(1))) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> stage.semaphore.tryAcquire(wait)).isInstanceOf(InterruptedException.class);
        }
        assertThat(stage.calls("exchange")).isZero();
    }

    @Test
    void anInterruptNeitherEndsNorIsSwallowedByASingleAttemptOrARelease() {
        Stage stage = new Stage(1);
        Thread.currentThread().interrupt();
        Permit permit = stage.take();
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        permit.release();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void aCancellationWhileTheGrantIsOnItsWayGivesItBack() {
        Stage stage = new Stage(1);
        CompletableFuture<Permit> cancelled = stage.semaphore.acquireAsync();
        stage.after("exchange", () -> cancelled.cancel(false));
        stage.settle();
        assertThat(cancelled).isCancelled();
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void aCancellationWhileTheGrantIsOnItsWayPassesItToTheNext() {
        Stage stage = new Stage(1);
        CompletableFuture<Permit> cancelled = stage.semaphore.acquireAsync(Duration.ZERO);
        CompletableFuture<Permit> next = stage.semaphore.acquireAsync();
        stage.after("exchange", () -> cancelled.cancel(false));
        stage.settle();
        assertThat(next).isCompleted();
        assertThat(next.join().isValid()).isTrue();
        assertThat(stage.calls("exchange")).isLessThanOrEqualTo(2);
        next.join().release();
        stage.settle();
        assertThat(stage.free()).isEqualTo(1);
    }

    /** As in a process that stood still while its answer waited to be read, and the limit was lowered meanwhile. */
    @Test
    void anOldGrantPassesToNoCallThatCameAfterIt() {
        assertPassesToNoLaterCall(new Stage(2), 300_000_000);
    }

    @Test
    void withoutHandOffsNoGrantPassesToACallThatCameAfterIt() {
        assertPassesToNoLaterCall(new Stage(2, "handOffs=0"), 3_000_000);
    }

    private static void assertPassesToNoLaterCall(Stage stage, long stoodStillNanos) {
        stage.takeAsOther();
        CompletableFuture<Permit> cancelled = stage.semaphore.acquireAsync();
        List<CompletableFuture<Permit>> late = new ArrayList<>();
        stage.after("exchange", () -> {
            stage.otherAdmin().resize(Stage.NAME, 1);
            stage.environment.freeze(stoodStillNanos);
            cancelled.cancel(false);
            late.add(stage.semaphore.acquireAsync(Duration.ofMillis(50)));
        });
        stage.settle();
        stage.passMillis(100);
        assertThat(late.get(0)).as("a call for a slot that was removed before").isCompletedExceptionally();
        assertThatThrownBy(late.get(0)::join).hasCauseInstanceOf(SemaphoreTimeoutException.class);
    }

    @Test
    void aCancellationBetweenTheGrantAndItsNewsGivesThePermitBack() {
        Stage stage = new Stage(1);
        assertThat(stage.semaphore.acquireAsync(Duration.ZERO)).isNotDone();
        CompletableFuture<Permit> cancelled = stage.semaphore.acquireAsync();
        stage.settle();
        Permit mine = cancelled.getNow(null);
        assertThat(mine).isNull();
        stage.server.revoke(Stage.NAME, 1, "make room");
        stage.environment.beforeEachTask(() -> {
            if (stage.free() == 0) {
                cancelled.cancel(false);
            }
        });
        stage.settle();
        assertThat(cancelled).isCancelled();
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void whoWaitsForTwoGetsBothOrGivesNothingUp() {
        Stage stage = new Stage(2);
        Permit other = stage.takeAsOther();
        CompletableFuture<PermitGroup> two = stage.semaphore.acquireAsync(2, Duration.ofMillis(50));
        stage.passMillis(10);
        assertThat(stage.free()).isEqualTo(1);
        stage.after("exchange", () -> stage.environment.freeze(100_000_000));
        other.release();
        stage.settle();
        assertThat(two).isCompleted();
        assertThat(two.join().permits()).extracting(Permit::slot).containsExactly(1, 2);
    }

    @Test
    void aGrantThatArrivesTooLateToBeSureIsGivenBack() {
        Stage stage = new Stage(1);
        stage.after("exchange", () -> stage.environment.freeze(Stage.LEASE.toNanos()));
        assertThatThrownBy(stage.semaphore::tryAcquire).hasMessageContaining("too late");
        stage.settle();
        assertThat(stage.free()).isEqualTo(1);
    }

    /** One attempt is not made twice. */
    @Test
    void aGrantToAFutureThatDoesNotWaitIsGivenBackIfItArrivesTooLate() {
        Stage stage = new Stage(1);
        AtomicBoolean paused = new AtomicBoolean();
        CompletableFuture<Permit> attempt = stage.semaphore.acquireAsync(Duration.ZERO);
        stage.environment.beforeEachTask(() -> {
            if (stage.free() == 0 && paused.compareAndSet(false, true)) {
                stage.environment.freeze(Stage.LEASE.toNanos());
            }
        });
        stage.settle();
        assertThatThrownBy(attempt::join).hasMessageContaining("too late");
        assertThat(paused).isTrue();
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void aWaiterWhoseGrantArrivesTooLateGoesOnWaiting() throws InterruptedException {
        Stage stage = new Stage(1);
        stage.after("exchange", () -> stage.environment.freeze(Stage.LEASE.toNanos()));
        Optional<Permit> permit = stage.semaphore.tryAcquire(Duration.ofMinutes(1));
        assertThat(permit.orElseThrow().isValid()).isTrue();
    }

    @Test
    void moreThanTheLimitIsRefusedNamingBoth() {
        Stage stage = new Stage(2);
        assertThatThrownBy(() -> stage.semaphore.tryAcquire(3))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("2 slots", "3 permits", Stage.NAME);
        assertThatThrownBy(() -> stage.semaphore.acquire(3)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> stage.semaphore.tryAcquire(0)).hasMessageContainingAll("0 permits", "1 to 100000");
        assertThatThrownBy(() -> stage.semaphore.tryAcquire(100_001)).hasMessageContainingAll("100001", "1 to 100000");
    }

    @Test
    void aShrinkEndsAWaiterThatCanNeverBeServed() {
        Stage stage = new Stage(2);
        stage.takeAsOther();
        CompletableFuture<PermitGroup> two = stage.semaphore.acquireAsync(2, Duration.ofHours(1));
        CompletableFuture<Permit> one = stage.semaphore.acquireAsync();
        stage.settle();
        stage.otherAdmin().resize(Stage.NAME, 1);
        stage.settle();
        assertThatThrownBy(two::join).hasCauseInstanceOf(IllegalArgumentException.class);
        assertThat(one).isNotDone();
    }

    @Test
    void aDestructionEndsAllWhoWaitAndANewSemaphoreServesAgain() {
        Stage stage = new Stage(1);
        Permit other = stage.takeAsOther();
        CompletableFuture<Permit> first = stage.semaphore.acquireAsync();
        CompletableFuture<Permit> second = stage.semaphore.acquireAsync();
        stage.settle();
        stage.otherAdmin().destroy(Stage.NAME);
        stage.settle();
        assertThatThrownBy(first::join)
                .hasCauseInstanceOf(NoSuchSemaphoreException.class)
                .hasMessageContaining(Stage.NAME);
        assertThatThrownBy(second::join).hasCauseInstanceOf(NoSuchSemaphoreException.class);
        other.release();
        stage.otherAdmin().create(Stage.NAME, 1);
        assertThat(stage.take().isValid()).isTrue();
    }
}
