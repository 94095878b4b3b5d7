package io.github.distributedsemaphore.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Time passes when the test says so, for waits of threads and of futures, for leases and for renewals. */
class ManualTimeTest {
    private final TestSemaphores semaphores = TestSemaphores.manual();
    private final DistributedSemaphore exports = semaphores.create("exports", 1);

    @AfterEach
    void close() {
        semaphores.close();
    }

    @Test
    void aFutureTimesOutWhenItsTimeIsOverAndNotBefore() {
        Permit held = exports.tryAcquire().orElseThrow();
        CompletableFuture<Permit> waiting =
                semaphores.otherProcess().semaphore("exports").acquireAsync(Duration.ofHours(1));
        semaphores.advance(Duration.ofMinutes(59));
        assertThat(waiting).isNotDone();
        semaphores.advance(Duration.ofMinutes(1));
        assertThatThrownBy(waiting::join)
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(SemaphoreTimeoutException.class);
        assertThat(held.isValid()).as("renewed for an hour").isTrue();
        held.release();
    }

    @Test
    void aThreadThatWaitsTimesOut() throws Exception {
        Permit held = exports.tryAcquire().orElseThrow();
        FutureTask<Permit> waiting = new FutureTask<>(() -> exports.acquire(Duration.ofMinutes(5)));
        Thread caller = new Thread(waiting, "caller");
        caller.start();
        awaitWaiting(1);
        semaphores.advance(Duration.ofMinutes(5));
        assertThatThrownBy(waiting::get).hasCauseInstanceOf(SemaphoreTimeoutException.class);
        caller.join();
        held.release();
    }

    @Test
    void aThreadThatWaitsGetsThePermitOfAnotherProcess() throws Exception {
        Permit held =
                semaphores.otherProcess().semaphore("exports").tryAcquire().orElseThrow();
        FutureTask<Permit> waiting = new FutureTask<>(() -> exports.acquire());
        new Thread(waiting, "caller").start();
        awaitWaiting(1);
        held.release();
        waiting.get().release();
        semaphores.assertNothingHeld();
    }

    /** The system says for a while of a thread that was woken that it waits. A busy machine makes that long. */
    @Test
    void aThreadThatIsWokenHasItsPermitBeforeTimePasses() throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        List<Thread> others = new ArrayList<>();
        for (int i = 0; i < 2 * Runtime.getRuntime().availableProcessors(); i++) {
            Thread other = new Thread(() -> spin(over), "other " + i);
            others.add(other);
            other.start();
        }
        try {
            DistributedSemaphore elsewhere = semaphores.otherProcess().semaphore("exports");
            for (int round = 0; round < 30; round++) {
                Permit held = elsewhere.tryAcquire().orElseThrow();
                FutureTask<Permit> waiting = new FutureTask<>(() -> exports.acquire(Duration.ofMillis(200)));
                Thread caller = new Thread(waiting, "caller");
                caller.start();
                awaitParked(caller);
                held.release();
                semaphores.advance(Duration.ofMillis(200));
                waiting.get().release();
                caller.join();
            }
        } finally {
            over.set(true);
            for (Thread other : others) {
                other.join();
            }
        }
    }

    private static void spin(AtomicBoolean over) {
        while (!over.get()) {
            Thread.onSpinWait();
        }
    }

    private void awaitParked(Thread caller) {
        awaitWaiting(1);
        // It may also wait for a lock, before its wait.
        while (caller.getState() != Thread.State.WAITING
                || Arrays.stream(caller.getStackTrace())
                        .noneMatch(frame -> frame.getClassName().equals(ManualTime.class.getName()))) {
            Thread.onSpinWait();
        }
    }

    private void awaitWaiting(int count) {
        while (exports.statistics().waiting() < count) {
            Thread.onSpinWait();
        }
    }

    @Test
    void theSlotOfAProcessThatIsKilledIsFreeWithinTheDetectionBound() {
        SemaphoreClient other = semaphores.otherProcess();
        Permit held = other.semaphore("exports").tryAcquire().orElseThrow();
        semaphores.kill(other);
        assertThat(held.isValid()).isFalse();
        assertThat(exports.tryAcquire()).isEmpty();
        CompletableFuture<Permit> waiting = exports.acquireAsync();
        semaphores.advance(semaphores.client().guarantees().detectionMax());
        waiting.join().release();
    }

    @Test
    void aPermitThatIsNotRenewedIsLost() {
        Permit permit = exports.tryAcquire().orElseThrow();
        List<LossCause> causes = Collections.synchronizedList(new ArrayList<>());
        permit.onLost(loss -> causes.add(loss.cause()));
        semaphores.lose(permit, LossCause.NOT_RENEWED_IN_TIME);
        assertThat(permit.isValid()).isFalse();
        assertThat(causes).containsExactly(LossCause.NOT_RENEWED_IN_TIME);
        exports.tryAcquire().orElseThrow().release();
    }

    @Test
    void anApplicationThatConnectsByTheUriGoesByTheSameClock() {
        Permit held = exports.tryAcquire().orElseThrow();
        try (SemaphoreClient application = SemaphoreClient.connect(semaphores.uri())) {
            CompletableFuture<Permit> waiting = application.semaphore("exports").acquireAsync(Duration.ofDays(1));
            semaphores.advance(Duration.ofDays(1));
            assertThat(waiting).isCompletedExceptionally();
        }
        held.release();
    }

    @Test
    void timeDoesNotGoBack() {
        assertThatThrownBy(() -> semaphores.advance(Duration.ofMillis(-1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("PT-0.001S");
    }

    @Test
    void aListenerThatAdvancesTheClockIsRefused() {
        Permit permit = exports.tryAcquire().orElseThrow();
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        permit.onLost(loss -> {
            try {
                semaphores.advance(Duration.ofSeconds(1));
            } catch (IllegalStateException e) {
                thrown.complete(e);
            }
        });
        semaphores.lose(permit);
        assertThat(thrown.join()).hasMessageContaining("listener");
    }
}
