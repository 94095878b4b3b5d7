package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.Holding;
import io.github.distributedsemaphore.InterruptOnLoss;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLostException;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClientBuilder;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class InterruptOnLossTest {
    private final Stage stage = new Stage(2);
    private final Permit permit = stage.take();

    @AfterEach
    void clearFlag() {
        Thread.interrupted();
    }

    private void lose(Permit lost) {
        stage.server.revoke(Stage.NAME, lost.slot(), "because");
        stage.settle();
    }

    @Test
    void aLossInterruptsAndTheGuardTakesThatBackWhenItCloses() {
        try (InterruptOnLoss guard = InterruptOnLoss.guard(permit)) {
            guard.throwIfLost();
            assertThat(guard.loss()).isEmpty();
            lose(permit);
            assertThat(Thread.currentThread().isInterrupted()).isTrue();
            assertThat(guard.loss().orElseThrow().cause()).isEqualTo(LossCause.TAKEN_BY_BACKEND);
        }
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
    }

    @Test
    void theExceptionOfALossSaysWhatWasLostAndLetsTheCleanUpBlock() {
        InterruptOnLoss guard = InterruptOnLoss.guard(permit);
        lose(permit);
        assertThatThrownBy(guard::throwIfLost)
                .isInstanceOfSatisfying(
                        PermitLostException.class,
                        e -> assertThat(e.loss().slot()).isEqualTo(permit.slot()))
                .hasMessageContainingAll("'" + Stage.NAME + "'", "slot 1", "because");
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        Thread.currentThread().interrupt();
        guard.close();
        assertThat(Thread.currentThread().isInterrupted())
                .as("somebody else's, after the guard's own was taken back")
                .isTrue();
    }

    @Test
    void anInterruptOfSomebodyElseIsKept() {
        InterruptOnLoss guard = InterruptOnLoss.guard(permit);
        Thread.currentThread().interrupt();
        lose(permit);
        guard.close();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(guard.loss()).isPresent();
    }

    @Test
    void aClosedGuardInterruptsNobody() {
        InterruptOnLoss guard = InterruptOnLoss.guard(permit);
        guard.close();
        lose(permit);
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        guard.throwIfLost();
        guard.close();
    }

    @Test
    void aPermitThatIsLostAlreadyInterruptsSoon() {
        lose(permit);
        try (InterruptOnLoss guard = InterruptOnLoss.guard(permit)) {
            stage.settle();
            assertThat(Thread.currentThread().isInterrupted()).isTrue();
            assertThat(guard.loss()).isPresent();
        }
    }

    @Test
    void theLossOfAnyPermitOfAGroupInterruptsOnce() {
        permit.close();
        PermitGroup group = stage.semaphore.tryAcquire(2).orElseThrow();
        InterruptOnLoss guard = InterruptOnLoss.guard(group);
        lose(group.permits().get(1));
        assertThat(Thread.interrupted()).isTrue();
        lose(group.permits().get(0));
        assertThat(Thread.interrupted()).isFalse();
        assertThat(guard.loss().orElseThrow().slot()).isEqualTo(2);
        guard.close();
    }

    @Test
    void aClosedGuardIsForgottenAlthoughItsPermitIsHeldOn() {
        permit.close();
        PermitGroup group = stage.semaphore.tryAcquire(2).orElseThrow();
        List<WeakReference<InterruptOnLoss>> closed =
                List.of(closedGuard(group), closedGuard(group.permits().get(0)));
        await().untilAsserted(() -> {
            System.gc();
            assertThat(closed).allMatch(guard -> guard.get() == null);
        });
        assertThat(group.isValid()).isTrue();
    }

    private static WeakReference<InterruptOnLoss> closedGuard(Holding holding) {
        InterruptOnLoss guard = InterruptOnLoss.guard(holding);
        guard.close();
        return new WeakReference<>(guard);
    }

    /** The threads of the application's executor may be those that are to be interrupted. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aThreadThatBlocksWakesUp(boolean isExecutorBusy) throws InterruptedException {
        MemoryServer server = new MemoryServer();
        SemaphoreClientBuilder builder =
                SemaphoreClient.builder(new MemoryBackend(server, new HolderInfo("host", 1, "")));
        if (isExecutorBusy) {
            builder.callbackExecutor(task -> {});
        }
        try (SemaphoreClient client = builder.connect()) {
            client.admin().create("exports", 1);
            CountDownLatch never = new CountDownLatch(1);
            AtomicReference<Throwable> end = new AtomicReference<>();
            Thread worker = new Thread(() -> {
                try (Permit held = client.semaphore("exports").acquire();
                        InterruptOnLoss guard = InterruptOnLoss.guard(held)) {
                    try {
                        never.await();
                    } finally {
                        guard.throwIfLost();
                    }
                } catch (PermitLostException | InterruptedException e) {
                    end.set(e);
                }
            });
            worker.start();
            await().until(() -> worker.getState() == Thread.State.WAITING
                    && client.semaphore("exports").availablePermits() == 0);
            server.revoke("exports", 1, "because");
            worker.join(10_000);
            assertThat(end.get()).isInstanceOf(PermitLostException.class);
        }
    }
}
