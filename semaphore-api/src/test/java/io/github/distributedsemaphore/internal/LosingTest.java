package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.InterruptOnLoss;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.PermitLostException;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.Verification;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** How a permit stays valid, and how it is lost: when, who is told, and what becomes of its slot. */
class LosingTest {
    private final BackendUnavailableException down = new BackendUnavailableException("the link is cut", null);

    private final List<PermitLoss> told = new ArrayList<>();

    @Test
    void renewalsKeepAPermitForAsLongAsItIsHeld() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        stage.pass(Stage.LEASE.multipliedBy(20));
        assertThat(permit.isValid()).isTrue();
        assertThat(permit.verify()).isEqualTo(Verification.HELD);
        assertThat(stage.calls("renew")).isEqualTo(60);
        assertThat(permit.release()).isEqualTo(ReleaseOutcome.RELEASED);
        stage.pass(Duration.ofMinutes(2));
        assertThat(stage.environment.timers())
                .as("timers of a client that holds nothing")
                .isZero();
    }

    @Test
    void whoseTimeEndsAfterThatOfAnotherPermitIsToldToo() {
        Stage stage = new Stage(2);
        stage.outage("renew", down);
        stage.take().onLost(told::add);
        stage.passMillis(1_000);
        stage.take().onLost(told::add);
        stage.pass(Stage.LEASE.minusMillis(500));
        assertThat(told).hasSize(1);
        stage.passMillis(1_000);
        assertThat(told).hasSize(2);
    }

    @Test
    void aPermitIsInvalidFromItsInstantOnWhetherOrNotATimerCouldFire() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        permit.onLost(told::add);
        assertThat(permit.validUntil().nanosFrom(stage.environment.nanoTime())).isEqualTo(Stage.LEASE.toNanos());
        stage.environment.freeze(Stage.LEASE.toNanos() - 1);
        assertThat(permit.isValid()).isTrue();
        stage.environment.freeze(1);
        assertThat(permit.isValid()).isFalse();
        assertThat(told).isEmpty();
        stage.pass(Duration.ZERO);
        assertThat(told).hasSize(1);
        assertThat(permit.validUntil().isPast(stage.environment.nanoTime())).isTrue();
    }

    @Test
    void aPermitThatIsReleasedAfterItsTimeIsToldAsLostAlsoIfNoTimerCouldFire() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        permit.onLost(told::add);
        stage.environment.freeze(Stage.LEASE.toNanos());
        Permit successor = stage.takeAsOther();
        permit.close();
        stage.settle();
        assertThat(told).extracting(PermitLoss::cause).containsExactly(LossCause.NOT_RENEWED_IN_TIME);
        assertThat(stage.semaphore.statistics().lost()).containsEntry(LossCause.NOT_RENEWED_IN_TIME, 1L);
        assertThat(stage.semaphore.statistics().released()).isZero();
        assertThat(successor.verify()).isEqualTo(Verification.HELD);
    }

    @Test
    void aPermitWhoseClientClosesAfterItsTimeIsToldAsLostAlsoIfNoTimerCouldFire() {
        Stage stage = new Stage(2);
        Permit late = stage.take();
        late.onLost(told::add);
        stage.environment.freeze(Stage.LEASE.dividedBy(2).toNanos());
        Permit inTime = stage.take();
        inTime.onLost(told::add);
        stage.environment.freeze(Stage.LEASE.dividedBy(2).toNanos());
        stage.client.close();
        stage.settle();
        assertThat(told)
                .containsExactly(new PermitLoss(
                        Stage.NAME, late.slot(), LossCause.NOT_RENEWED_IN_TIME, "it was not renewed in time"));
        assertThat(stage.semaphore.statistics().lost()).containsEntry(LossCause.NOT_RENEWED_IN_TIME, 1L);
        assertThat(stage.semaphore.statistics().released()).isOne();
        assertThat(late.release()).isEqualTo(ReleaseOutcome.WAS_LOST);
        assertThat(stage.free()).isEqualTo(2);
    }

    /** After a long pause a renewal, the end of the session or an abort may tell of the loss before the timer does. */
    @Test
    void aPermitThatIsLostAfterItsTimeWasNotRenewedInTime() {
        causeAfterAPause(Stage::takeAsOther);
        causeAfterAPause(stage -> stage.heard.ended("its connection ended"));
        causeAfterAPause(stage -> stage.client.abort());
        assertThat(told).hasSize(3).extracting(PermitLoss::cause).containsOnly(LossCause.NOT_RENEWED_IN_TIME);
    }

    private void causeAfterAPause(Consumer<Stage> news) {
        Stage stage = new Stage(1);
        stage.take().onLost(told::add);
        stage.environment.freeze(Stage.LEASE.toNanos());
        news.accept(stage);
        stage.pass(Duration.ZERO);
    }

    @Test
    void aGuardKnowsALossThatNoTimerCouldTell() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        try (InterruptOnLoss guard = InterruptOnLoss.guard(permit)) {
            guard.throwIfLost();
            stage.environment.freeze(Stage.LEASE.toNanos());
            assertThatThrownBy(guard::throwIfLost).isInstanceOf(PermitLostException.class);
            stage.settle();
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
        }
    }

    @Test
    void theEndOfALostPermitStaysWhereItWasHoweverLateItIsAskedFor() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        stage.outage("renew", down);
        Deadline end = permit.validUntil();
        stage.pass(Stage.LEASE.plusSeconds(1));
        assertThat(permit.verify()).isEqualTo(Verification.LOST);
        assertThat(permit.validUntil()).isEqualTo(end);
    }

    @Test
    void aPermitIsGrantedAndWatchedOverAlsoIfThereIsNoMemoryForTheTimerOnce() {
        Stage stage = new Stage(2);
        stage.environment.failNextTimerOf("watchOver");
        Permit first = stage.take();
        first.onLost(told::add);
        stage.passMillis(20_000);
        assertThat(first.isValid()).isTrue();
        stage.take().onLost(told::add);
        stage.outage("renew", down);
        stage.pass(Stage.LEASE);
        assertThat(told).hasSize(2);
    }

    @Test
    void verifyDoesNotReviveAPermitWhoseTimeIsOver() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        permit.onLost(told::add);
        stage.environment.freeze(Stage.LEASE.toNanos());
        assertThat(permit.verify()).isEqualTo(Verification.LOST);
        assertThat(stage.calls("check")).isZero();
        stage.pass(Stage.LEASE);
        assertThat(told).hasSize(1);
        assertThat(permit.release()).isEqualTo(ReleaseOutcome.WAS_LOST);
    }

    @Test
    void whatCouldNotBeRenewedIsLostOnceAndGivenBack() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        permit.onLost(told::add);
        stage.outage("renew", down);
        stage.pass(Stage.LEASE.minusNanos(1));
        assertThat(permit.isValid()).isTrue();
        assertThat(stage.calls("renew")).as("tries").isGreaterThan(4);
        stage.pass(Duration.ofNanos(1));
        assertThat(permit.isValid()).isFalse();
        assertThat(told)
                .containsExactly(
                        new PermitLoss(Stage.NAME, 1, LossCause.NOT_RENEWED_IN_TIME, "it was not renewed in time"));
        assertThat(stage.requests.get(stage.requests.size() - 1).giveBack()).hasSize(1);
        stage.outageOver();
        stage.pass(Stage.LEASE.multipliedBy(2));
        assertThat(told).hasSize(1);
        assertThat(permit.verify()).isEqualTo(Verification.LOST);
        assertThat(permit.release()).isEqualTo(ReleaseOutcome.WAS_LOST);
    }

    @Test
    void theSlotOfAPermitThatCouldNotBeRenewedGoesToWhoWaitsHere() {
        Stage stage = new Stage(1, "recheck=1m");
        stage.take();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.outage("renew", down);
        stage.pass(Stage.LEASE);
        assertThat(waiting).isCompleted();
    }

    @Test
    void aRenewalTriesAgainSoonAfterAFailureAlsoOfTheAdapter() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        stage.before("renew", () -> {
            throw new IllegalStateException("a bug");
        });
        stage.before("renew", () -> {
            throw new AssertionError("another");
        });
        stage.pass(Stage.LEASE.multipliedBy(2));
        assertThat(permit.isValid()).isTrue();
    }

    @Test
    void aLogThatStandsStillHoldsUpNobodyElse() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        List<Boolean> othersGoOn = new ArrayList<>();
        PrintStream before = System.err;
        System.setErr(new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8) {
            @Override
            public void println(@Nullable String line) {
                if (String.valueOf(line).endsWith("is lost: by hand")) {
                    othersGoOn.add(doesOtherThreadGoOn(stage));
                }
            }
        });
        try {
            stage.server.revoke(Stage.NAME, permit.slot(), "by hand");
            stage.settle();
        } finally {
            System.setErr(before);
        }
        assertThat(othersGoOn).containsExactly(true);
    }

    private static boolean doesOtherThreadGoOn(Stage stage) {
        try {
            CompletableFuture.runAsync(stage.semaphore::statistics).get(2, TimeUnit.SECONDS);
            return true;
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            return false;
        }
    }

    @Test
    void aRenewalThatFindsAHoldGoneTellsOfIt() {
        Stage stage = new Stage(2);
        Permit kept = stage.take();
        Permit taken = stage.take();
        kept.onLost(told::add);
        taken.onLost(told::add);
        stage.server.removeHolder(Stage.NAME, taken.slot());
        stage.pass(Stage.LEASE);
        assertThat(told).hasSize(1);
        assertThat(told.get(0).slot()).isEqualTo(taken.slot());
        assertThat(kept.isValid()).isTrue();
        assertThat(taken.isValid()).isFalse();
    }

    @Test
    void aRenewalWhoseAnswerIsReadTooLateDoesNotMakeAPermitValidAgain() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        permit.onLost(told::add);
        List<Boolean> valid = new ArrayList<>();
        stage.after("renew", () -> {
            stage.environment.freeze(permit.validUntil().nanosFrom(stage.environment.nanoTime()));
            valid.add(permit.isValid());
        });
        stage.pass(Stage.LEASE);
        assertThat(valid).containsExactly(false);
        assertThat(permit.isValid()).isFalse();
        assertThat(told).hasSize(1);
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void aRenewalThatRacesAReleaseReportsNoLoss() {
        Stage stage = new Stage(2);
        Permit kept = stage.take();
        Permit released = stage.take();
        released.onLost(told::add);
        // The request names a hold that is given back before it arrives.
        stage.before("renew", () -> assertThat(released.release()).isEqualTo(ReleaseOutcome.RELEASED));
        stage.pass(Stage.LEASE);
        assertThat(told).isEmpty();
        assertThat(kept.isValid()).isTrue();
    }

    @Test
    void aRenewalThatRacesAReleaseAndAnotherAcquireLeavesTheSuccessorAlone() {
        Stage stage = new Stage(1);
        Permit released = stage.take();
        List<Permit> next = new ArrayList<>();
        stage.before("renew", () -> {
            released.release();
            next.add(stage.take());
            next.get(0).onLost(told::add);
        });
        stage.pass(Stage.LEASE.multipliedBy(3));
        assertThat(told).isEmpty();
        assertThat(next.get(0).isValid()).isTrue();
    }

    @Test
    void aRenewalThatWasAskedForBeforeAResizeDoesNotBringARetiredSlotBack() {
        Stage stage = new Stage(2, "recheck=1m&handOffTime=10s");
        Permit first = stage.take();
        Permit second = stage.take();
        stage.after("renew", () -> stage.client.admin().resize(Stage.NAME, 1));
        stage.pass(Stage.LEASE.dividedBy(3));
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        // Within the time for hand-offs of a fresh slot, this one would pass to the waiter.
        assertThat(second.slot()).isEqualTo(2);
        second.release();
        stage.settle();
        assertThat(waiting).isNotDone();
        first.release();
        stage.settle();
        assertThat(waiting).isCompleted();
    }

    @Test
    void aReleaseOfALostPermitTouchesNoSuccessor() {
        Stage stage = new Stage(1);
        Permit lost = stage.take();
        stage.server.revoke(Stage.NAME, 1, "because");
        stage.settle();
        Permit next = stage.take();
        assertThat(lost.release()).isEqualTo(ReleaseOutcome.WAS_LOST);
        lost.close();
        assertThat(next.verify()).isEqualTo(Verification.HELD);
        assertThat(stage.free()).isZero();
    }

    @Test
    void aRevocationIsToldOnceAndWakesWhoWaits() {
        Stage stage = new Stage(1, "recheck=1m");
        Permit permit = stage.take();
        permit.onLost(told::add);
        permit.onLost(told::add);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        stage.server.revoke(Stage.NAME, 1, "because");
        stage.settle();
        permit.onLost(told::add);
        stage.settle();
        assertThat(told).hasSize(3).containsOnly(new PermitLoss(Stage.NAME, 1, LossCause.TAKEN_BY_BACKEND, "because"));
        assertThat(waiting).isCompleted();
        assertThat(waiting.join().isValid()).isTrue();
        assertThat(waiting.join().fence().epoch()).isGreaterThan(permit.fence().epoch());
    }

    @Test
    void aLossThatOvertakesItsGrantIsNotForgotten() {
        Stage stage = new Stage(2);
        revokeOnItsWay(stage, 1);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(waiting.join().verify()).isEqualTo(Verification.HELD);
        revokeOnItsWay(stage, 2);
        assertThatThrownBy(stage.semaphore::tryAcquire).hasMessageContaining("too late");
        stage.settle();
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void aGroupOfWhichOneIsLostOnItsWayIsGivenBack() {
        Stage stage = new Stage(2);
        revokeOnItsWay(stage, 1);
        assertThatThrownBy(() -> stage.semaphore.tryAcquire(2)).hasMessageContaining("too late");
        stage.settle();
        assertThat(stage.free()).isEqualTo(2);
        assertThat(stage.semaphore.tryAcquire(2)).isPresent();
    }

    private static void revokeOnItsWay(Stage stage, int slot) {
        stage.after("exchange", () -> {
            stage.server.revoke(Stage.NAME, slot, "because");
            stage.settle();
        });
    }

    @Test
    void verifyTellsWhatTheBackendSays() {
        Stage stage = new Stage(2);
        Permit first = stage.take();
        Permit second = stage.take();
        second.onLost(told::add);
        assertThat(second.verify()).isEqualTo(Verification.HELD);
        stage.otherAdmin().resize(Stage.NAME, 1);
        assertThat(first.verify()).isEqualTo(Verification.HELD);
        assertThat(second.verify()).isEqualTo(Verification.RETIRED);
        assertThat(second.isValid()).isTrue();
        stage.server.removeHolder(Stage.NAME, 2);
        assertThat(second.verify()).isEqualTo(Verification.LOST);
        assertThat(second.isValid()).isFalse();
        stage.settle();
        assertThat(told).hasSize(1);
        first.release();
        assertThat(first.verify()).isEqualTo(Verification.RELEASED);
    }

    @Test
    void aPermitWhoseTimeEndsWhileTheBackendIsAskedIsLost() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        stage.after("check", () -> stage.environment.freeze(Stage.LEASE.toNanos()));
        assertThat(permit.verify()).isEqualTo(Verification.LOST);
        assertThat(permit.isValid()).isFalse();
    }

    /** Its own client closed the connection on which it was asked, say. */
    @Test
    void aPermitThatEndsWhileTheQuestionFailsIsWhatItIsAndTheBackendNotAway() {
        Stage closed = new Stage(1);
        Permit released = closed.take();
        closed.before("check", () -> {
            closed.client.close();
            throw down;
        });
        assertThat(released.verify()).isEqualTo(Verification.RELEASED);
        Stage silent = new Stage(1);
        Permit lost = silent.take();
        silent.before("check", () -> {
            silent.environment.freeze(Stage.LEASE.toNanos());
            throw down;
        });
        assertThat(lost.verify()).isEqualTo(Verification.LOST);
        silent.settle();
        assertThat(silent.free()).isOne();
    }

    @Test
    void aPermitThatIsReleasedWhileItIsVerifiedIsReleased() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        permit.onLost(told::add);
        stage.before("check", permit::release);
        assertThat(permit.verify()).isEqualTo(Verification.RELEASED);
        stage.settle();
        assertThat(told).isEmpty();
    }

    @Test
    void timersDoNotBreedWhileAClientIsNeverIdle() {
        Stage stage = new Stage(3, "handOffs=0");
        List<Permit> low = List.of(stage.take(), stage.take());
        stage.take();
        low.forEach(Permit::release);
        stage.environment.fireLateBy(1_000_000);
        for (int i = 0; i < 400; i++) {
            Permit fresh = stage.take();
            Permit fresher = stage.take();
            stage.passMillis(700);
            fresh.release();
            stage.passMillis(400);
            fresher.release();
            assertThat(stage.environment.timers()).isLessThanOrEqualTo(4);
        }
    }
}
