package io.github.distributedsemaphore.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each fault by name, on both clocks. */
class FaultsTest {
    private TestSemaphores semaphores = TestSemaphores.manual();
    private DistributedSemaphore exports = semaphores.create("exports", 1);

    private void start(boolean manual) {
        if (!manual) {
            semaphores.close();
            semaphores = TestSemaphores.realTime();
            exports = semaphores.create("exports", 1);
        }
    }

    @AfterEach
    void close() {
        semaphores.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aPermitThatIsTakenIsLostAndItsSlotIsFree(boolean manual) {
        start(manual);
        Permit permit = exports.tryAcquire().orElseThrow();
        CompletableFuture<LossCause> cause = new CompletableFuture<>();
        permit.onLost(loss -> cause.complete(loss.cause()));
        semaphores.lose(permit);
        assertThat(cause.join()).isEqualTo(LossCause.TAKEN_BY_BACKEND);
        assertThat(permit.isValid()).isFalse();
        exports.tryAcquire().orElseThrow().release();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aSessionThatEndsTakesItsPermitsAndTheNextOneWorks(boolean manual) {
        start(manual);
        Permit permit = exports.tryAcquire().orElseThrow();
        CompletableFuture<LossCause> cause = new CompletableFuture<>();
        permit.onLost(loss -> cause.complete(loss.cause()));
        semaphores.lose(permit, LossCause.SESSION_ENDED);
        assertThat(cause.join()).isEqualTo(LossCause.SESSION_ENDED);
        exports.tryAcquire().orElseThrow().release();
    }

    @ParameterizedTest
    @EnumSource(
            value = LossCause.class,
            names = {"TAKEN_BY_BACKEND", "SESSION_ENDED", "NOT_RENEWED_IN_TIME"})
    void whatIsNotHeldCannotBeLost(LossCause cause) {
        Permit permit = exports.tryAcquire().orElseThrow();
        permit.release();
        assertThatThrownBy(() -> semaphores.lose(permit, cause))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("Slot 1 of 'exports' is not held, so it cannot be lost");
    }

    @ParameterizedTest
    @EnumSource(
            value = LossCause.class,
            names = {"CLIENT_ABORTED", "NOT_RENEWED_IN_TIME"})
    void aCauseThatCannotBeBroughtAboutIsRefusedWithTheWayToIt(LossCause cause) {
        start(false);
        Permit permit = exports.tryAcquire().orElseThrow();
        assertThatThrownBy(() -> semaphores.lose(permit, cause)).hasMessageMatching(".*(abort\\(\\)|manual\\(\\)).*");
        permit.release();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aBackendThatIsUnavailableFailsCallsThatDoNotWaitUntilItIsBack(boolean manual) {
        start(manual);
        semaphores.unavailable(Duration.ofDays(1));
        assertThatThrownBy(exports::tryAcquire).isInstanceOf(BackendUnavailableException.class);
        semaphores.unavailable(Duration.ZERO);
        exports.tryAcquire().orElseThrow().release();
    }

    @Test
    void anOutageThatATestHasAskedForGoesOnAfterAPermitWasNotRenewedInIt() {
        Permit permit = exports.tryAcquire().orElseThrow();
        semaphores.unavailable(Duration.ofHours(1));
        semaphores.lose(permit, LossCause.NOT_RENEWED_IN_TIME);
        assertThatThrownBy(exports::tryAcquire).isInstanceOf(BackendUnavailableException.class);
        semaphores.advance(Duration.ofHours(1));
        exports.tryAcquire().orElseThrow().release();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallThatWaitsRidesOutAnOutage(boolean manual) {
        start(manual);
        exports.tryAcquire().orElseThrow().release();
        semaphores.unavailable(Duration.ofSeconds(2));
        CompletableFuture<Permit> waiting = exports.acquireAsync(Duration.ofMinutes(1));
        if (manual) {
            semaphores.advance(Duration.ofSeconds(1));
            assertThat(waiting).isNotDone();
            semaphores.advance(Duration.ofSeconds(10));
            assertThat(waiting).isDone();
        }
        waiting.join().release();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anOutcomeIsUnknownOnce(boolean manual) {
        start(manual);
        semaphores.unknownOutcomeOnce();
        assertThatThrownBy(exports::tryAcquire).isInstanceOf(OutcomeUnknownException.class);
        if (manual) {
            semaphores.advance(Duration.ofSeconds(10));
        }
        // What the call had taken went back, so it is there for the next one.
        exports.acquireAsync(Duration.ofSeconds(10)).join().release();
        semaphores.assertNothingHeld();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatACallOfUnknownOutcomeTookGoesBackBeforeItCountsAsHeld(boolean manual) {
        start(manual);
        semaphores.unknownOutcomeOnce();
        assertThatThrownBy(exports::tryAcquire).isInstanceOf(OutcomeUnknownException.class);
        semaphores.assertNothingHeld();
        assertThat(exports.availablePermits()).isEqualTo(1);
    }

    private static BackendSession session(MemoryBackend client) {
        return client.open("exports", new SessionListener() {
            @Override
            public void lost(Collection<Hold> holds, String reason) {}

            @Override
            public void ended(String reason) {}
        });
    }

    @Test
    void noOtherClientLosesTheSecondAnswer() {
        TestServer server = new TestServer(System::nanoTime, Duration.ofSeconds(10), null);
        MemoryBackend client = server.connect(HolderInfo.ofThisProcess("one"));
        assertThat(client.admin().create("exports", 2)).isTrue();
        BackendSession one = session(client);
        BackendSession other = session(server.connect(HolderInfo.ofThisProcess("other")));
        ExchangeRequest request = new ExchangeRequest(List.of(), List.of(1), 1, true);
        server.loseAnswerOnce();
        assertThatThrownBy(() -> one.exchange(request)).isInstanceOf(OutcomeUnknownException.class);

        assertThat(other.exchange(request).answers().get(0)).isInstanceOf(Answer.Granted.class);

        assertThatThrownBy(() -> one.resolve(request)).isInstanceOf(OutcomeUnknownException.class);
        assertThat(one.resolve(request).answers().get(0)).isInstanceOf(Answer.Granted.class);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theOutcomeOfAReleaseIsUnknownOnce(boolean manual) {
        start(manual);
        Permit permit = exports.tryAcquire().orElseThrow();
        semaphores.unknownOutcomeOnce();
        assertThatThrownBy(permit::release).isInstanceOf(OutcomeUnknownException.class);
        semaphores.assertNothingHeld();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRefusalIsOnceAndACallThatWaitsAsksAgain(boolean manual) {
        start(manual);
        semaphores.refuseOnce();
        assertThat(exports.tryAcquire()).isEmpty();
        exports.tryAcquire().orElseThrow().release();
        semaphores.refuseOnce();
        exports.acquireAsync(Duration.ofSeconds(10)).join().release();
    }

    @Test
    void aRefusalIsForAllThatOneRequestAsks() {
        TestServer server = new TestServer(System::nanoTime, Duration.ofSeconds(10), null);
        MemoryBackend client = server.connect(HolderInfo.ofThisProcess("one"));
        assertThat(client.admin().create("exports", 2)).isTrue();
        BackendSession session = session(client);
        ExchangeRequest request = new ExchangeRequest(List.of(), List.of(1, 1), 1, true);
        server.refuseOnce();

        assertThat(session.exchange(request).answers()).containsExactly(Answer.FULL, Answer.FULL);
        assertThat(session.exchange(request).answers()).doesNotContain(Answer.FULL);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatIsHeldIsNamedWithItsHolder(boolean manual) {
        start(manual);
        assertThatCode(semaphores::assertNothingHeld).doesNotThrowAnyException();
        SemaphoreClient other = semaphores.otherProcess();
        Permit held = other.semaphore("exports").tryAcquire().orElseThrow();
        assertThatThrownBy(semaphores::assertNothingHeld)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("slot 1 of 'exports' by pid 1000001 on other-host (other process 1)");
        held.release();
        semaphores.assertNothingHeld();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void onlyAProcessOfThisTestCanBeKilled(boolean manual) {
        start(manual);
        try (SemaphoreClient stranger = SemaphoreClient.connect(semaphores.uri())) {
            assertThatThrownBy(() -> semaphores.kill(stranger))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("otherProcess()");
        }
    }
}
