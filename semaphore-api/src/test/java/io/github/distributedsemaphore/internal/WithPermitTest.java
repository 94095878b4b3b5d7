package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class WithPermitTest {
    private static final Duration WAIT = Duration.ofMillis(10);

    private final Stage stage = new Stage(1);

    @Test
    void returnsWhatTheTaskReturnsAndReleases() throws InterruptedException {
        assertThat(stage.semaphore.<Integer, RuntimeException>withPermit(WAIT, permit -> {
                    assertThat(permit.isValid()).isTrue();
                    assertThat(stage.free()).isZero();
                    return permit.slot();
                }))
                .isEqualTo(1);
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void passesOnWhatTheTaskThrowsAsItIsAndReleases() {
        IOException failure = new IOException("the task's");
        assertThatThrownBy(() -> stage.semaphore.withPermit(WAIT, permit -> {
                    throw failure;
                }))
                .isSameAs(failure);
        assertThat(stage.free()).isEqualTo(1);
    }

    /** Has the compiler believe that a checked exception is none, as Kotlin's does. */
    @SuppressWarnings("unchecked")
    static <E extends Throwable> RuntimeException undeclared(Throwable thrown) throws E {
        throw (E) thrown;
    }

    @Test
    void anAsynchronousTaskThatThrowsWhatItDoesNotDeclareReleases() {
        IOException failure = new IOException("the task's");
        CompletableFuture<Object> result = stage.semaphore.withPermitAsync(WAIT, permit -> {
            throw WithPermitTest.<RuntimeException>undeclared(failure);
        });
        stage.settle();
        assertThatThrownBy(result::join).hasCause(failure);
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void aReleaseThatFailsMasksNeitherTheResultNorTheException() throws Exception {
        Object result = stage.semaphore.withPermit(WAIT, permit -> {
            stage.outage("exchange", new BackendUnavailableException("down", null));
            return "done";
        });
        assertThat(result).isEqualTo("done");
        stage.outageOver();
        stage.passMillis(400);
        IOException failure = new IOException("the task's");
        assertThatThrownBy(() -> stage.semaphore.withPermit(WAIT, permit -> {
                    stage.outage("exchange", new BackendUnavailableException("down", null));
                    throw failure;
                }))
                .isSameAs(failure)
                .hasNoSuppressedExceptions();
    }

    @Test
    void doesNotRunTheTaskWithoutAPermit() {
        stage.takeAsOther();
        AtomicBoolean ran = new AtomicBoolean();
        assertThatThrownBy(() -> stage.semaphore.withPermit(WAIT, permit -> ran.getAndSet(true)))
                .isInstanceOf(SemaphoreTimeoutException.class);
        assertThat(ran).isFalse();
    }

    @Test
    void aTaskWithoutAResultRunsUnderAPermit() throws IOException, InterruptedException {
        AtomicBoolean ran = new AtomicBoolean();
        stage.semaphore.runWithPermit(WAIT, permit -> ran.set(permit.isValid() && stage.free() == 0));
        assertThat(ran).isTrue();
        assertThat(stage.free()).isEqualTo(1);
        IOException failure = new IOException("the task's");
        assertThatThrownBy(() -> stage.semaphore.runWithPermit(WAIT, permit -> {
                    throw failure;
                }))
                .isSameAs(failure);
        assertThat(stage.free()).isEqualTo(1);
        stage.takeAsOther();
        assertThatThrownBy(() -> stage.semaphore.runWithPermit(WAIT, permit -> ran.set(false)))
                .isInstanceOf(SemaphoreTimeoutException.class);
        assertThat(ran).isTrue();
    }

    @Test
    void aTaskThatMayBeSkippedSaysWhetherItRan() throws InterruptedException {
        AtomicBoolean ran = new AtomicBoolean();
        assertThat(stage.semaphore.tryRunWithPermit(Duration.ZERO, permit -> ran.set(true)))
                .isTrue();
        assertThat(ran).isTrue();
        assertThat(stage.free()).isEqualTo(1);
        stage.takeAsOther();
        assertThat(stage.semaphore.tryRunWithPermit(WAIT, permit -> ran.set(false)))
                .isFalse();
        assertThat(ran).isTrue();
    }

    @Test
    void anAsyncTaskKeepsItsPermitUntilItsStageCompletes() {
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> result = stage.semaphore.withPermitAsync(WAIT, permit -> work);
        stage.settle();
        assertThat(result).isNotDone();
        assertThat(stage.free()).isZero();
        work.complete("done");
        assertThat(stage.free())
                .as("not on the thread that completes the stage")
                .isZero();
        stage.settle();
        assertThat(result).isCompletedWithValue("done");
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void anAsyncTaskThatFailsReleasesItsPermitAndPassesTheFailureOn() {
        IOException failure = new IOException("the task's");
        CompletableFuture<String> late =
                stage.semaphore.withPermitAsync(WAIT, permit -> CompletableFuture.failedFuture(failure));
        stage.settle();
        assertThatThrownBy(late::join).hasCause(failure);
        assertThat(stage.free()).isEqualTo(1);
        CompletableFuture<String> early = stage.semaphore.withPermitAsync(WAIT, permit -> {
            throw new IllegalStateException("the task's");
        });
        CompletableFuture<String> without = stage.semaphore.withPermitAsync(WAIT, permit -> null);
        stage.settle();
        assertThatThrownBy(early::join).hasCauseInstanceOf(IllegalStateException.class);
        assertThatThrownBy(without::join).hasCauseInstanceOf(NullPointerException.class);
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void anAsyncTaskWithoutAPermitIsNotCalled() {
        stage.takeAsOther();
        AtomicBoolean ran = new AtomicBoolean();
        CompletableFuture<String> result = stage.semaphore.withPermitAsync(WAIT, permit -> {
            ran.set(true);
            return new CompletableFuture<>();
        });
        stage.passMillis(100);
        assertThatThrownBy(result::join).hasCauseInstanceOf(SemaphoreTimeoutException.class);
        assertThat(ran).isFalse();
    }

    @Test
    void aCancelledAsyncTaskWithdrawsItsRequestAndOnceStartedKeepsItsPermit() {
        Permit other = stage.takeAsOther();
        AtomicBoolean ran = new AtomicBoolean();
        CompletableFuture<String> waiting = stage.semaphore.withPermitAsync(Duration.ofHours(1), permit -> {
            ran.set(true);
            return new CompletableFuture<>();
        });
        stage.settle();
        waiting.cancel(false);
        other.release();
        stage.passMillis(1100);
        assertThat(ran).isFalse();
        assertThat(stage.free()).isEqualTo(1);
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> started = stage.semaphore.withPermitAsync(WAIT, permit -> work);
        stage.settle();
        started.cancel(false);
        stage.settle();
        assertThat(stage.free()).isZero();
        work.complete("done");
        stage.settle();
        assertThat(stage.free()).isEqualTo(1);
    }
}
