package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClosedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The end of a client, in order and without a word, at every moment of a call. */
class ClosingTest {
    private final BackendUnavailableException down = new BackendUnavailableException("the link is cut", null);

    @Test
    void closeReturnsAllPermitsInOneExchangeAndEndsAllWhoWait() {
        Stage stage = new Stage(3);
        List<PermitLoss> told = new ArrayList<>();
        List<Permit> permits = List.of(stage.take(), stage.take(), stage.take());
        permits.forEach(permit -> permit.onLost(told::add));
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        int before = stage.calls("exchange");
        stage.client.close();
        assertThat(stage.calls("exchange")).isEqualTo(before + 1);
        assertThat(stage.requests.get(stage.requests.size() - 1).giveBack()).hasSize(3);
        stage.settle();
        assertThat(stage.free()).isEqualTo(3);
        assertThatThrownBy(waiting::join).hasCauseInstanceOf(SemaphoreClosedException.class);
        assertThat(permits).noneMatch(Permit::isValid);
        assertThat(permits.get(0).release()).isEqualTo(ReleaseOutcome.ALREADY_RELEASED);
        assertThat(told).isEmpty();
        assertThat(stage.server.openSessions()).isZero();
    }

    @Test
    void aClientClosedTwiceIsClosedOnce() {
        Stage stage = new Stage(1);
        stage.take();
        stage.client.close();
        stage.client.close();
        stage.client.abort();
        assertThat(stage.calls("close")).isEqualTo(1);
    }

    @Test
    void closeDuringAnOutageEndsAndTheServerFreesTheRest() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        stage.outage("exchange", down);
        stage.outage("close", down);
        stage.client.close();
        assertThat(permit.isValid()).isFalse();
        stage.pass(Stage.LEASE);
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void closeWithAnUnknownOutcomeLeavesNothingBehind() {
        Stage stage = new Stage(2);
        stage.take();
        stage.loseReply();
        stage.outage("resolve", down);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.client.close();
        stage.settle();
        assertThat(waiting).isCompletedExceptionally();
        assertThat(stage.free()).isEqualTo(2);
    }

    @Test
    void aGrantThatArrivesAfterCloseIsNotReportedAndGoesBack() {
        Stage stage = new Stage(1);
        CompletableFuture<Permit> attempt = stage.semaphore.acquireAsync(Duration.ZERO);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        // Only marks it closed: close waits for the exchange under way, which is this one.
        stage.after("exchange", () -> stage.environment.execute(stage.client::close));
        stage.settle();
        assertThatThrownBy(waiting::join).hasCauseInstanceOf(SemaphoreClosedException.class);
        assertThat(attempt).isDone();
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void anAbortWhileTheGrantIsOnItsWayReportsNothing() {
        Stage stage = new Stage(2);
        CompletableFuture<Permit> attempt = stage.semaphore.acquireAsync(Duration.ZERO);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.after("exchange", stage.client::abort);
        stage.settle();
        assertThatThrownBy(waiting::join).hasCauseInstanceOf(SemaphoreClosedException.class);
        assertThatThrownBy(attempt::join).hasCauseInstanceOf(SemaphoreClosedException.class);
        stage.pass(Stage.LEASE);
        assertThat(stage.free()).isEqualTo(2);
    }

    @Test
    void anAttemptOfAnAbortedClientFailsAsClosedAlsoWhenItsExchangeFails() {
        Stage stage = new Stage(1);
        CompletableFuture<Permit> attempt = stage.semaphore.acquireAsync(Duration.ZERO);
        stage.before("exchange", () -> {
            stage.client.abort();
            throw down;
        });
        stage.settle();
        assertThatThrownBy(attempt::join).hasCauseInstanceOf(SemaphoreClosedException.class);
    }

    @Test
    void anAttemptThatWasCollectedBeforeAnAbortAndNotSentFailsAsClosed() {
        Stage stage = new Stage(1);
        stage.take().release();
        CompletableFuture<Permit> attempt = stage.semaphore.acquireAsync(Duration.ZERO);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.environment.atNextCheckpointIn("drive", stage.client::abort);
        stage.settle();
        assertThat(attempt).isCompletedExceptionally();
        assertThat(waiting).isCompletedExceptionally();
    }

    @Test
    void abortLosesPermitsWithoutAWordToTheBackend() {
        Stage stage = new Stage(1);
        List<PermitLoss> told = new ArrayList<>();
        Permit permit = stage.take();
        permit.onLost(told::add);
        int before = stage.calls("exchange");
        stage.client.abort();
        stage.settle();
        assertThat(permit.isValid()).isFalse();
        assertThat(told)
                .containsExactly(new PermitLoss(Stage.NAME, 1, LossCause.CLIENT_ABORTED, "the client was aborted"));
        assertThat(stage.calls("exchange")).isEqualTo(before);
        assertThat(stage.calls("close")).isZero();
        assertThat(stage.free()).isZero();
        stage.pass(Stage.LEASE);
        assertThat(stage.free()).isEqualTo(1);
        assertThat(permit.release()).isEqualTo(ReleaseOutcome.WAS_LOST);
    }

    @Test
    void aReleaseOnItsWayWhenTheClientClosesIsReported() {
        Stage stage = new Stage(2);
        Permit released = stage.take();
        stage.take();
        stage.after("exchange", () -> stage.environment.execute(stage.client::close));
        assertThat(released.release()).isEqualTo(ReleaseOutcome.RELEASED);
        stage.settle();
        assertThat(stage.free()).isEqualTo(2);
    }

    @Test
    void aQuestionThatMeetsTheEndOfItsClientSaysSo() {
        EngineClient client = new Stage(1).client;
        assertThatThrownBy(() -> Questions.now("x", client::requireOpen, () -> {
                    client.close();
                    throw new BackendUnavailableException("the connection is closed", null);
                }))
                .isInstanceOf(SemaphoreClosedException.class);
    }

    @Test
    void nothingCanBeHadFromAClosedClient() {
        Stage stage = new Stage(1);
        stage.client.close();
        assertThatThrownBy(() -> stage.client.semaphore("x")).isInstanceOf(SemaphoreClosedException.class);
        assertThatThrownBy(() -> stage.client.admin().names()).isInstanceOf(SemaphoreClosedException.class);
        assertThatThrownBy(() -> stage.client.admin().create("x", 1)).isInstanceOf(SemaphoreClosedException.class);
        assertThatThrownBy(stage.semaphore::tryAcquire).isInstanceOf(SemaphoreClosedException.class);
        assertThatThrownBy(stage.semaphore::acquire).isInstanceOf(SemaphoreClosedException.class);
        assertThatThrownBy(stage.semaphore::availablePermits).isInstanceOf(SemaphoreClosedException.class);
        CompletableFuture<Permit> late = stage.semaphore.acquireAsync();
        stage.settle();
        assertThatThrownBy(late::join).hasCauseInstanceOf(SemaphoreClosedException.class);
    }

    @Test
    void allSemaphoresOfAClientEnd() {
        Stage stage = new Stage(1);
        stage.client.admin().create("second", 1);
        stage.client.admin().create("third", 1);
        stage.take();
        assertThat(stage.client.semaphore("second").tryAcquire()).isPresent();
        assertThat(stage.client.semaphore("third").tryAcquire()).isPresent();
        stage.client.close();
        assertThat(stage.server.openSessions()).isZero();
    }

    @Test
    void aSessionThatEndsWhileAnExchangeIsUnderWayReportsNothingItGranted() {
        Stage stage = new Stage(2);
        CompletableFuture<Permit> attempt = stage.semaphore.acquireAsync(Duration.ZERO);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.after("exchange", () -> {
            stage.server.endSessions(stage.backend, "because");
            stage.settle();
        });
        stage.settle();
        assertThatThrownBy(attempt::join)
                .hasCauseInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("ended during the call");
        assertThat(waiting).isCompleted();
        assertThat(waiting.join().isValid()).isTrue();
        assertThat(waiting.join().verify().name()).isEqualTo("HELD");
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void aSessionThatEndsBeforeAnOutcomeIsFoundOutLeavesItUnknown() {
        Stage stage = new Stage(1);
        assertThatThrownBy(attemptUnknownUntil(stage, () -> {
                    stage.server.endSessions(stage.backend, "because");
                    stage.settle();
                })::join)
                .hasCauseInstanceOf(OutcomeUnknownException.class)
                .hasMessageContainingAll(Stage.NAME, "the answer was lost");
        assertThat(stage.free()).isEqualTo(1);
        Stage aborted = new Stage(1);
        assertThatThrownBy(attemptUnknownUntil(aborted, aborted.client::abort)::join)
                .hasCauseInstanceOf(SemaphoreClosedException.class);
    }

    private static CompletableFuture<Permit> attemptUnknownUntil(Stage stage, Runnable end) {
        stage.loseReply();
        stage.before("resolve", end);
        CompletableFuture<Permit> attempt = stage.semaphore.acquireAsync(Duration.ZERO);
        stage.settle();
        return attempt;
    }

    @Test
    void aSessionThatEndsBeforeAnExchangeIsSentCostsTheCallersNothing() {
        Stage stage = new Stage(3);
        Permit held = stage.take();
        Permit released = stage.take();
        List<ReleaseOutcome> outcomes = new ArrayList<>();
        CompletableFuture<Permit> attempt = stage.semaphore.acquireAsync(Duration.ZERO);
        stage.environment.atNextCheckpointIn("drive", () -> {
            stage.server.endSessions(stage.backend, "because");
            stage.settle();
        });
        outcomes.add(released.release());
        stage.settle();
        assertThat(outcomes).containsExactly(ReleaseOutcome.WAS_LOST);
        assertThat(held.isValid()).isFalse();
        assertThat(attempt).isCompleted();
        assertThat(stage.free()).isEqualTo(2);
    }

    @Test
    void theEndOfASessionLosesEveryPermitOnceAndResolvesWhatWasUnknown() {
        Stage stage = new Stage(2);
        List<PermitLoss> told = new ArrayList<>();
        Permit first = stage.take();
        Permit second = stage.take();
        first.onLost(told::add);
        second.onLost(told::add);
        stage.loseReply();
        stage.outage("resolve", down);
        second.close();
        stage.server.endSessions(stage.backend, "because");
        stage.settle();
        assertThat(told).containsExactly(new PermitLoss(Stage.NAME, first.slot(), LossCause.SESSION_ENDED, "because"));
        assertThat(stage.take().isValid()).isTrue();
        assertThat(first.release()).isEqualTo(ReleaseOutcome.WAS_LOST);
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void aClientThatStopsAcquiringEndsItsWaitersAndKeepsItsHolders() {
        Stage stage = new Stage(2, "recheck=1m");
        Permit held = stage.take();
        stage.takeAsOther();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        stage.client.stopAcquiring();
        stage.client.stopAcquiring();
        stage.settle();
        assertThatThrownBy(waiting::join)
                .hasCauseInstanceOf(SemaphoreClosedException.class)
                .hasMessageContainingAll("'" + Stage.NAME + "'", "no more permits");
        assertThatThrownBy(stage.semaphore::tryAcquire).isInstanceOf(SemaphoreClosedException.class);
        assertThatThrownBy(stage.semaphore::acquire).isInstanceOf(SemaphoreClosedException.class);
        assertThatThrownBy(() -> stage.semaphore.tryAcquire(2)).isInstanceOf(SemaphoreClosedException.class);
        CompletableFuture<Permit> late = stage.semaphore.acquireAsync();
        stage.settle();
        assertThatThrownBy(late::join).hasCauseInstanceOf(SemaphoreClosedException.class);
        assertThatThrownBy(() -> stage.client.semaphore("another").tryAcquire())
                .isInstanceOf(SemaphoreClosedException.class);
        stage.pass(Stage.LEASE.multipliedBy(3));
        assertThat(held.isValid()).isTrue();
        assertThat(stage.semaphore.availablePermits()).isZero();
        assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(stage.free()).isEqualTo(1);
        stage.client.close();
        assertThatThrownBy(stage.semaphore::tryAcquire)
                .isInstanceOf(SemaphoreClosedException.class)
                .hasMessageContaining("is closed");
    }

    @Test
    void aCallOnItsWayWhenTheClientStopsAcquiringIsRefused() {
        Stage stage = new Stage(1);
        CompletableFuture<Permit> submitted = stage.semaphore.acquireAsync();
        stage.client.stopAcquiring();
        stage.settle();
        assertThatThrownBy(submitted::join).hasCauseInstanceOf(SemaphoreClosedException.class);
        Stage other = new Stage(1);
        CompletableFuture<Permit> sent = other.semaphore.acquireAsync();
        other.after("exchange", other.client::stopAcquiring);
        other.settle();
        assertThatThrownBy(sent::join).hasCauseInstanceOf(SemaphoreClosedException.class);
        assertThat(other.free()).as("what was granted meanwhile goes back").isEqualTo(1);
    }

    @Test
    void anAttemptOnItsWayWhenTheClientStopsAcquiringIsRefused() {
        Stage stage = new Stage(1);
        CompletableFuture<Permit> attempt = stage.semaphore.acquireAsync(Duration.ZERO);
        stage.after("exchange", stage.client::stopAcquiring);
        stage.settle();
        assertThatThrownBy(attempt::join).hasCauseInstanceOf(SemaphoreClosedException.class);
        assertThat(stage.free()).isEqualTo(1);
    }
}
