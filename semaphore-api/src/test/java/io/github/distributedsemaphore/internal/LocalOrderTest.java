package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Fence;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Who of one client is next, and when a slot passes to it without the backend being asked. */
class LocalOrderTest {
    @Test
    void waitersAreServedFirstComeFirstServed() {
        for (String settings : List.of("", "handOffs=0", "handOffTime=0s")) {
            Stage stage = new Stage(2, settings);
            List<Permit> held = new ArrayList<>(List.of(stage.take(), stage.take()));
            List<Integer> order = new ArrayList<>();
            List<CompletableFuture<Void>> waiting = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                int number = i;
                waiting.add(stage.semaphore.acquireAsync().thenAccept(permit -> {
                    order.add(number);
                    held.add(permit);
                }));
            }
            while (!held.isEmpty()) {
                held.remove(0).release();
                stage.settle();
            }
            assertThat(waiting).allMatch(CompletableFuture::isDone);
            assertThat(order).as(settings).hasSize(100).isSorted();
        }
    }

    @Test
    void nobodyOvertakesAWaiterForTwo() {
        Stage stage = new Stage(3, "handOffs=10");
        List<Permit> held = List.of(stage.take(), stage.take(), stage.take());
        CompletableFuture<Permit> first = stage.semaphore.acquireAsync();
        CompletableFuture<PermitGroup> two = stage.semaphore.acquireAsync(2, Duration.ofHours(1));
        CompletableFuture<Permit> last = stage.semaphore.acquireAsync();
        stage.settle();
        held.get(0).release();
        stage.settle();
        assertThat(first).isCompleted();
        held.get(1).release();
        stage.passMillis(3_000);
        assertThat(two).isNotDone();
        assertThat(last).as("behind one for two").isNotDone();
        assertThat(stage.free()).isEqualTo(1);
        held.get(2).release();
        stage.settle();
        assertThat(two).isCompleted();
        assertThat(last).isNotDone();
        first.join().release();
        stage.settle();
        assertThat(last).isCompleted();
    }

    @Test
    void aCallWithOneAttemptGoesAheadOfTheQueue() {
        Stage stage = new Stage(2, "recheck=1m");
        stage.takeAsOther();
        CompletableFuture<PermitGroup> two = stage.semaphore.acquireAsync(2, Duration.ofHours(1));
        stage.settle();
        assertThat(stage.semaphore.tryAcquire()).isPresent();
        assertThat(two).isNotDone();
    }

    @Test
    void theBackendIsToldWhichWantsAreForOneAttempt() {
        Stage stage = new Stage(2, "recheck=1m");
        stage.takeAsOther();
        CompletableFuture<PermitGroup> two = stage.semaphore.acquireAsync(2, Duration.ofHours(1));
        CompletableFuture<Permit> once = stage.semaphore.acquireAsync(Duration.ZERO);
        stage.settle();
        ExchangeRequest both = stage.requests.stream()
                .filter(request -> request.wants().size() == 2)
                .findFirst()
                .orElseThrow();
        assertThat(both.wants()).containsExactly(1, 2);
        assertThat(both.attempts()).isEqualTo(1);
        assertThat(both.waiting()).isTrue();
        assertThat(once).isCompleted();

        assertThat(stage.semaphore.tryAcquire()).isEmpty();
        ExchangeRequest alone = stage.requests.get(stage.requests.size() - 1);
        assertThat(alone.wants()).containsExactly(1);
        assertThat(alone.attempts()).isEqualTo(1);
        assertThat(alone.waiting()).isTrue();
        assertThat(two.cancel(false)).isTrue();
        CompletableFuture<Permit> patient = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(patient).isNotDone();
        assertThat(stage.requests.get(stage.requests.size() - 1).attempts()).isZero();
    }

    @Test
    void aReleasedSlotPassesOnUnderTheNextEpochWithoutTheBackend() {
        Stage stage = new Stage(1);
        Permit first = stage.take();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        int before = stage.calls("exchange");
        first.release();
        stage.settle();
        Fence fence = first.fence();
        assertThat(waiting.join().fence()).isEqualTo(new Fence(1, fence.epoch() + 1));
        assertThat(stage.calls("exchange")).isEqualTo(before);
        assertThat(first.isValid()).isFalse();
        assertThat(waiting.join().isValid()).isTrue();
    }

    @Test
    void handOffsAreBoundedInNumber() {
        Stage stage = new Stage(1, "handOffs=3");
        assertThat(lengthOfRun(stage, 0)).isEqualTo(3);
    }

    @Test
    void handOffsNeverGoPastTheEpochsThatWereReserved() {
        Stage stage = new Stage(1, "handOffs=10000");
        stage.epochs = 4;
        assertThat(lengthOfRun(stage, 0)).isEqualTo(3);
    }

    @Test
    void handOffsAreBoundedInTime() {
        Stage stage = new Stage(1, "handOffTime=10ms");
        assertThat(lengthOfRun(stage, 3_000_000)).isEqualTo(3);
    }

    @Test
    void theTimeForHandOffsBeginsWithTheAnswerButNotLongAfterTheRequestThatDecidedWasSent() {
        Stage slow = new Stage(1, "handOffTime=10ms");
        slow.before("exchange", () -> slow.environment.pass(9_000_000));
        assertThat(lengthOfRun(slow, 3_000_000)).isEqualTo(3);
        Stage silent = new Stage(1, "handOffTime=10ms");
        silent.before("exchange", () -> silent.environment.pass(20_000_000));
        assertThat(lengthOfRun(silent, 3_000_000))
                .as("hand-offs over a backend that does not say when")
                .isZero();
        Stage telling = new Stage(1, "handOffTime=10ms");
        telling.before("exchange", () -> telling.environment.pass(20_000_000));
        telling.answers = answer ->
                answer.toBuilder().sent(telling.environment.nanoTime()).build();
        assertThat(lengthOfRun(telling, 3_000_000)).isEqualTo(3);
    }

    @Test
    void noHandOffsAreMadeWhereNoneAreAllowed() {
        for (String settings : List.of("handOffs=0", "handOffTime=0s")) {
            assertThat(lengthOfRun(new Stage(1, settings), 0)).as(settings).isZero();
        }
    }

    /** Counts the permits that follow the first one without an exchange, each released after so long. */
    private static int lengthOfRun(Stage stage, long heldNanos) {
        Permit permit = stage.take();
        List<CompletableFuture<Permit>> waiting = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            waiting.add(stage.semaphore.acquireAsync());
        }
        stage.settle();
        int before = stage.calls("exchange");
        for (int run = 0; run < 20; run++) {
            stage.environment.pass(heldNanos);
            long epoch = permit.fence().epoch();
            permit.release();
            stage.settle();
            permit = waiting.get(run).join();
            assertThat(permit.fence().epoch()).isGreaterThan(epoch);
            if (stage.calls("exchange") > before) {
                return run;
            }
        }
        return 20;
    }

    @Test
    void aRetiredSlotIsNotHandedOn() {
        Stage stage = new Stage(2, "handOffTime=10s");
        Permit first = stage.take();
        Permit second = stage.take();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        stage.client.admin().resize(Stage.NAME, 1);
        second.release();
        stage.settle();
        assertThat(waiting).isNotDone();
        first.release();
        stage.settle();
        assertThat(waiting.join().slot()).isEqualTo(1);
    }

    @Test
    void aSlotThatARenewalFoundRetiredIsNotHandedOnAndOneThatCameBackIs() {
        Stage stage = new Stage(2, "handOffTime=10s");
        stage.take();
        Permit second = stage.take();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.otherAdmin().resize(Stage.NAME, 1);
        stage.pass(Stage.LEASE.dividedBy(2));
        int before = stage.calls("exchange");
        stage.otherAdmin().resize(Stage.NAME, 2);
        stage.pass(Stage.LEASE.dividedBy(3));
        second.release();
        stage.settle();
        assertThat(waiting.join().slot()).isEqualTo(2);
        assertThat(stage.calls("exchange")).isGreaterThanOrEqualTo(before);
    }

    @Test
    void anExpiredHoldIsNotHandedOn() {
        Stage stage = new Stage(1, "handOffTime=10s");
        Permit permit = stage.take();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        stage.environment.freeze(Stage.LEASE.toNanos());
        permit.release();
        stage.settle();
        assertThat(waiting.join().fence().epoch()).isGreaterThan(permit.fence().epoch() + 1);
        assertThat(waiting.join().isValid()).isTrue();
        assertThat(stage.free()).isZero();
    }

    @Test
    void afterARunOthersHaveATurn() {
        Stage stage = new Stage(1, "handOffs=0&turn=100ms");
        Permit mine = stage.take();
        CompletableFuture<Permit> other = stage.others.acquireAsync();
        stage.settle();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        mine.release();
        assertThat(waiting).isNotDone();
        stage.settle();
        assertThat(other).isCompleted();
        other.join().release();
        stage.passMillis(151);
        assertThat(waiting).isCompleted();
    }

    @Test
    void theTurnOfOthersEndsHoweverManyReleasesFollow() {
        Stage stage = new Stage(10, "handOffs=0&turn=200ms&recheck=1s");
        stage.takeAsOther();
        List<Permit> mine = new ArrayList<>();
        for (int i = 0; i < 9; i++) {
            mine.add(stage.take());
        }
        CompletableFuture<PermitGroup> all = stage.others.acquireAsync(10, Duration.ofHours(1));
        stage.settle();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        for (int i = 0; i < 4; i++) {
            mine.get(i).release();
            stage.passMillis(90);
        }
        assertThat(waiting).isCompleted();
        assertThat(all).isNotDone();
    }

    @Test
    void withoutOthersThereIsNoTurnToLeave() {
        Stage stage = new Stage(1, "handOffs=0&turn=1s");
        Permit mine = stage.take();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        mine.release();
        stage.settle();
        assertThat(waiting).isCompleted();
    }

    @Test
    void aCrowdIsServedInOneExchange() {
        Stage stage = new Stage(64);
        List<CompletableFuture<Permit>> waiting = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            waiting.add(stage.semaphore.acquireAsync());
        }
        stage.settle();
        assertThat(waiting).allMatch(CompletableFuture::isDone);
        assertThat(stage.calls("exchange")).isEqualTo(1);
    }

    @Test
    void aGroupIsReleasedInOneExchangeAndEachPermitOnce() throws InterruptedException {
        Stage stage = new Stage(3);
        PermitGroup group = stage.semaphore.acquire(3);
        assertThat(group.permits()).extracting(Permit::slot).containsExactly(1, 2, 3);
        assertThat(group.isValid()).isTrue();
        group.permits().get(1).release();
        assertThat(group.isValid()).isFalse();
        int before = stage.calls("exchange");
        assertThat(group.release()).extracting(Enum::name).containsExactly("RELEASED", "ALREADY_RELEASED", "RELEASED");
        assertThat(stage.calls("exchange")).isEqualTo(before + 1);
        group.close();
        assertThat(stage.free()).isEqualTo(3);
    }

    @Test
    void theEndOfAReleasedPermitDoesNotMoveOnWithTheOneThatItsSlotWasHandedTo() {
        Stage stage = new Stage(1);
        Permit released = stage.take();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        released.release();
        Deadline end = released.validUntil();
        assertThat(end.isPast(stage.environment.nanoTime())).isTrue();
        stage.pass(Stage.LEASE.multipliedBy(3));
        assertThat(waiting.join().slot()).isEqualTo(released.slot());
        assertThat(waiting.join().isValid()).isTrue();
        assertThat(released.validUntil()).isEqualTo(end);
    }
}
