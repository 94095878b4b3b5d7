package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import java.io.IOException;
import java.time.Duration;
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
}
