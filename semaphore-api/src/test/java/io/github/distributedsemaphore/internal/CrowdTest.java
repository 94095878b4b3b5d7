package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Many calls at the same moment: what one request may hold, and how many threads they take. */
class CrowdTest {
    private static final int CROWD = 1_000;

    private final BackendUnavailableException down = new BackendUnavailableException("down", null);

    private static List<CompletableFuture<Permit>> attempts(Stage stage, int number) {
        return IntStream.range(0, number)
                .mapToObj(i -> stage.semaphore.acquireAsync(Duration.ZERO))
                .toList();
    }

    private static List<Permit> takeAll(Stage stage) {
        List<Permit> permits = new ArrayList<>();
        IntStream.range(0, CROWD).forEach(i -> permits.add(stage.take()));
        stage.requests.clear();
        return permits;
    }

    private static void assertBounded(Stage stage) {
        assertThat(stage.requests).isNotEmpty().allSatisfy(request -> {
            assertThat(request.wants()).hasSizeLessThanOrEqualTo(ExchangeRequest.MOST_WANTS);
            assertThat(request.giveBack()).hasSizeLessThanOrEqualTo(ExchangeRequest.MOST_GIVE_BACKS);
        });
    }

    @Test
    void aCrowdOfEveryKindIsServedInRequestsOfBoundedSize() {
        Stage stage = new Stage(CROWD);
        List<CompletableFuture<Permit>> calls = new ArrayList<>(attempts(stage, CROWD / 2));
        IntStream.range(0, CROWD / 2).forEach(i -> calls.add(stage.semaphore.acquireAsync()));
        stage.settle();
        assertThat(calls).allMatch(CompletableFuture::isDone);
        assertThat(stage.free()).isZero();
        List<CompletableFuture<ReleaseOutcome>> released =
                calls.stream().map(call -> call.join().releaseAsync()).toList();
        stage.settle();
        assertThat(released).allMatch(outcome -> outcome.join() == ReleaseOutcome.RELEASED);
        assertThat(stage.free()).isEqualTo(CROWD);
        assertBounded(stage);
        assertThat(stage.requests).hasSizeLessThan(CROWD / 10);
    }

    @Test
    void aClientThatClosesReturnsAThousandPermitsInRequestsOfBoundedSize() {
        Stage stage = new Stage(CROWD);
        takeAll(stage);
        stage.client.close();
        assertBounded(stage);
        assertThat(stage.free()).isEqualTo(CROWD);
    }

    @Test
    void attemptsThatFoundNoRoomInARequestThatFailedFailWithIt() {
        Stage stage = new Stage(CROWD);
        stage.outage("exchange", down);
        List<CompletableFuture<Permit>> calls = attempts(stage, CROWD);
        stage.settle();
        assertThat(stage.calls("exchange")).isEqualTo(1);
        assertThat(calls)
                .allSatisfy(call -> assertThat(call)
                        .failsWithin(Duration.ZERO)
                        .withThrowableThat()
                        .withCauseInstanceOf(BackendUnavailableException.class));
        stage.outageOver();
        assertThat(stage.take().release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void releasesThatFoundNoRoomInARequestThatFailedAreDoneAfterTheOutage() {
        Stage stage = new Stage(CROWD);
        List<Permit> permits = takeAll(stage);
        stage.outage("exchange", down);
        int before = stage.calls("exchange");
        List<CompletableFuture<ReleaseOutcome>> released =
                permits.stream().map(Permit::releaseAsync).toList();
        stage.settle();
        assertThat(stage.calls("exchange")).isEqualTo(before + 1);
        assertThat(released)
                .allSatisfy(outcome -> assertThat(outcome)
                        .failsWithin(Duration.ZERO)
                        .withThrowableThat()
                        .withCauseInstanceOf(OutcomeUnknownException.class));
        stage.outageOver();
        stage.passMillis(2_000);
        assertThat(stage.free()).isEqualTo(CROWD);
        assertBounded(stage);
    }

    /** Without an end the test would have none either. */
    @Test
    void releasesThatAreRefusedAreNotTriedAgainAtOnceHoweverManyTheyAre() {
        Stage stage = new Stage(CROWD);
        List<Permit> permits = takeAll(stage);
        stage.outage("exchange", new BackendAccessException("no rights any more", null));
        for (int i = 0; i < 100; i++) {
            stage.before("exchange", () -> {});
        }
        stage.before("exchange", stage::outageOver);
        int before = stage.calls("exchange");
        List<CompletableFuture<ReleaseOutcome>> released =
                permits.stream().map(Permit::releaseAsync).toList();
        stage.settle();
        assertThat(stage.calls("exchange") - before).isLessThan(5);
        assertThat(released).allMatch(CompletableFuture::isCompletedExceptionally);
        stage.outageOver();
        stage.passMillis(4_000);
        assertThat(stage.free()).isEqualTo(CROWD);
        assertBounded(stage);
    }

    @Test
    void callsThatDoNotBlockTakeNoThreadEachWhileTheyWait() {
        Stage stage = new Stage(1);
        Permit held = stage.take();
        AtomicInteger tasks = new AtomicInteger();
        stage.environment.beforeEachTask(tasks::incrementAndGet);
        List<CompletableFuture<Permit>> waiting = IntStream.range(0, CROWD)
                .mapToObj(i -> stage.semaphore.acquireAsync())
                .toList();
        stage.settle();
        assertThat(tasks).hasValueLessThan(10);
        assertThat(waiting).noneMatch(CompletableFuture::isDone);
        held.release();
        stage.settle();
        assertThat(waiting.get(0)).isCompleted();
    }

    @Test
    void releasesThatDoNotBlockTakeOneThreadUntilTheyAreAnswered() {
        Stage stage = new Stage(CROWD);
        List<Permit> permits = takeAll(stage);
        AtomicInteger tasks = new AtomicInteger();
        List<Integer> before = new ArrayList<>();
        stage.before("exchange", () -> before.add(tasks.get()));
        stage.environment.beforeEachTask(tasks::incrementAndGet);
        permits.forEach(permit -> assertThat(permit.releaseAsync()).isNotDone());
        stage.settle();
        assertThat(before).containsExactly(1);
        assertThat(tasks).hasValue(CROWD + 1);
    }
}
