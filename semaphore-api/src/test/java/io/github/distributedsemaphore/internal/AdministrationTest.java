package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.SemaphoreStatus;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class AdministrationTest {
    private final Stage stage = new Stage(2);
    private final SemaphoreAdmin admin = stage.client.admin();
    private final BackendUnavailableException down = new BackendUnavailableException("down", null);

    @Test
    void waitsForTheHoldersOfRemovedSlots() throws InterruptedException {
        stage.take();
        Permit second = stage.take();
        assertThat(admin.awaitReleased(Stage.NAME, Duration.ZERO)).isTrue();
        admin.resize(Stage.NAME, 1);
        assertThat(admin.awaitReleased(Stage.NAME, Duration.ZERO)).isFalse();
        long start = stage.environment.nanoTime();
        assertThat(admin.awaitReleased(Stage.NAME, Duration.ofMillis(300))).isFalse();
        assertThat(stage.environment.nanoTime() - start).isEqualTo(300_000_000);
        stage.environment.schedule(second::release, 100_000_000);
        assertThat(admin.awaitReleased(Stage.NAME, Duration.ofSeconds(1))).isTrue();
    }

    @Test
    void theWaitForHoldersCanBeInterrupted() {
        stage.take();
        admin.destroy(Stage.NAME);
        stage.environment.whenParked(() -> Thread.currentThread().interrupt());
        assertThatThrownBy(() -> admin.awaitReleased(Stage.NAME, Duration.ofHours(1)))
                .isInstanceOf(InterruptedException.class);
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void growingWakesOwnWaitersWithoutAHint() {
        stage.take();
        stage.take();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        admin.resize(Stage.NAME, 3);
        stage.settle();
        assertThat(waiting.join().slot()).isEqualTo(3);
    }

    @Test
    void theStateOfASemaphoreIsShown() {
        assertThat(stage.semaphore.availablePermits()).isEqualTo(2);
        stage.take();
        assertThat(stage.semaphore.availablePermits()).isEqualTo(1);
        assertThat(admin.describe(Stage.NAME).orElseThrow().holders()).hasSize(1);
        assertThat(admin.names()).containsExactly(Stage.NAME);
        assertThat(admin.destroy(Stage.NAME)).isTrue();
        assertThat(admin.destroy(Stage.NAME)).isFalse();
        assertThat(admin.describe(Stage.NAME)).isEmpty();
        assertThatThrownBy(stage.semaphore::availablePermits).isInstanceOf(NoSuchSemaphoreException.class);
        assertThatThrownBy(stage.semaphore::tryAcquire)
                .isInstanceOf(NoSuchSemaphoreException.class)
                .hasMessageContaining(Stage.NAME);
        assertThat(stage.semaphore).hasToString("semaphore 'staged' in memory");
    }

    @Test
    void ensureCreatesOrResizesAndTellsTheLimitBefore() {
        assertThat(admin.ensure("new", 3)).isEmpty();
        assertThat(admin.ensure("new", 3)).hasValue(3);
        assertThat(stage.calls("resize")).isZero();
        assertThat(admin.ensure("new", 5)).hasValue(3);
        assertThat(admin.ensure("new", 2)).hasValue(5);
        assertThat(admin.status("new")).contains(new SemaphoreStatus("new", 2, 2));
        assertThatThrownBy(() -> admin.ensure("new", 0)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void ensureCreatesWhatIsDestroyedWhileItResizes() {
        stage.before("resize", () -> stage.otherAdmin().destroy(Stage.NAME));
        assertThat(admin.ensure(Stage.NAME, 3)).isEmpty();
        assertThat(admin.status(Stage.NAME)).contains(new SemaphoreStatus(Stage.NAME, 3, 3));
    }

    @Test
    void ensureGivesUpIfOthersDestroyItAgainAndAgain() {
        for (int i = 0; i < 20; i++) {
            stage.before("create", () -> stage.otherAdmin().create(Stage.NAME, 2));
            stage.before("resize", () -> stage.otherAdmin().destroy(Stage.NAME));
        }
        assertThatThrownBy(() -> admin.ensure(Stage.NAME, 3)).isInstanceOf(NoSuchSemaphoreException.class);
    }

    @Test
    void ensureByManyAtTheSameTimeChangesItOnce() {
        stage.before(
                "create",
                () -> assertThat(stage.otherAdmin().ensure(Stage.NAME, 3)).hasValue(2));
        assertThat(admin.ensure(Stage.NAME, 3)).hasValue(3);
        assertThat(stage.calls("resize")).as("resizes of this client").isZero();
    }

    @Test
    void theStatusOfASemaphoreThatIsMissingIsEmpty() {
        assertThat(admin.status("missing")).isEmpty();
        stage.take();
        assertThat(admin.status(Stage.NAME)).contains(new SemaphoreStatus(Stage.NAME, 2, 1));
    }

    @Test
    void theWaitForHoldersRidesOutAnOutageAndAsksSeldomMeanwhile() throws InterruptedException {
        Permit held = stage.take();
        admin.destroy(Stage.NAME);
        stage.environment.schedule(() -> stage.outage("retiredHolders", down), 100_000_000);
        stage.environment.schedule(
                () -> {
                    assertThat(stage.calls("retiredHolders")).isBetween(10, 60);
                    stage.outageOver();
                    held.close();
                },
                20_000_000_000L);
        assertThat(admin.awaitReleased(Stage.NAME, Duration.ofHours(1))).isTrue();
    }

    @Test
    void theWaitForHoldersGivesUpWhenItsPatienceIsOverAndSaysHowLongItTried() {
        stage.take();
        admin.destroy(Stage.NAME);
        stage.outage("retiredHolders", down);
        long start = stage.environment.nanoTime();
        assertThatThrownBy(() -> admin.awaitReleased(Stage.NAME, Duration.ofHours(1)))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContainingAll("'" + Stage.NAME + "'", "not answered for 30s", "down");
        assertThat(stage.environment.nanoTime() - start).isEqualTo(30_000_000_000L);
        assertThatThrownBy(() -> admin.awaitReleased(Stage.NAME, Duration.ofSeconds(2)))
                .hasMessageContaining("not answered for 2s");
        assertThatThrownBy(() -> admin.awaitReleased(Stage.NAME, Duration.ZERO))
                .hasMessage("Semaphore '" + Stage.NAME + "': down");
    }

    @Test
    void theWaitForHoldersEndsAtOnceWhereWaitingCannotHelp() {
        stage.outage("retiredHolders", new BackendAccessException("no rights", null));
        assertThatThrownBy(() -> admin.awaitReleased(Stage.NAME, Duration.ofHours(1)))
                .isInstanceOf(BackendAccessException.class);
        assertThat(stage.calls("retiredHolders")).isEqualTo(1);
    }

    @Test
    void theWaitForHoldersEndsWhenItsClientIsClosedDuringAnOutage() {
        stage.outage("retiredHolders", down);
        stage.environment.schedule(stage.client::close, 1_000_000_000);
        assertThatThrownBy(() -> admin.awaitReleased(Stage.NAME, Duration.ofHours(1)))
                .isInstanceOf(SemaphoreClosedException.class);
    }

    @Test
    void holdersAreStillThereIfTheBackendStopsToAnswerInTime() throws InterruptedException {
        stage.take();
        admin.destroy(Stage.NAME);
        stage.before("retiredHolders", () -> {});
        stage.before("retiredHolders", () -> stage.environment.freeze(400_000_000));
        assertThat(admin.awaitReleased(Stage.NAME, Duration.ofMillis(300))).isFalse();
    }
}
