package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.Verification;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** What a permit and a group have in common, and their calls that do not block. */
class HoldingTest {
    private final Stage stage = new Stage(3);

    private PermitGroup group(int permits) {
        return stage.semaphore.tryAcquire(permits).orElseThrow();
    }

    @Test
    void aGroupNamesItsSemaphoreAndIsSureAsLongAsItsFirstToEnd() {
        PermitGroup group = group(2);
        assertThat(group.semaphoreName()).isEqualTo(Stage.NAME);
        assertThat(stage.take().semaphoreName()).isEqualTo(Stage.NAME);
        assertThat(group.validUntil())
                .isEqualTo(Deadline.after(stage.environment.nanoTime(), Stage.LEASE))
                .isEqualTo(group.permits().get(1).validUntil());
        stage.pass(Stage.LEASE.dividedBy(2));
        group.permits().get(0).close();
        assertThat(group.validUntil()).isEqualTo(Deadline.at(stage.environment.nanoTime()));
        assertThat(group.isValid()).isFalse();
    }

    @Test
    void aGroupAnswersAsTheWorstOfItsPermits() {
        PermitGroup group = group(3);
        assertThat(group.verify()).isEqualTo(Verification.HELD);
        stage.otherAdmin().resize(Stage.NAME, 2);
        assertThat(group.verify()).isEqualTo(Verification.RETIRED);
        group.permits().get(0).close();
        assertThat(group.verify()).isEqualTo(Verification.RELEASED);
        stage.server.revoke(Stage.NAME, 2, "because");
        assertThat(group.verify()).isEqualTo(Verification.LOST);
    }

    @Test
    void aGroupTellsEachLossOnce() {
        List<PermitLoss> told = new ArrayList<>();
        PermitGroup group = group(2);
        group.onLost(told::add);
        stage.server.revoke(Stage.NAME, 2, "because");
        stage.settle();
        assertThat(told).extracting(PermitLoss::slot).containsExactly(2);
        stage.server.revoke(Stage.NAME, 1, "because");
        stage.settle();
        assertThat(told).extracting(PermitLoss::slot).containsExactly(2, 1);
    }

    @Test
    void aReleaseThatDoesNotBlockHappensOnAWorker() {
        Permit permit = stage.take();
        int before = stage.calls("exchange");
        CompletableFuture<ReleaseOutcome> released = permit.releaseAsync();
        assertThat(stage.calls("exchange")).isEqualTo(before);
        stage.settle();
        assertThat(released).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(stage.free()).isEqualTo(3);
        CompletableFuture<ReleaseOutcome> again = permit.releaseAsync();
        stage.settle();
        assertThat(again).isCompletedWithValue(ReleaseOutcome.ALREADY_RELEASED);
    }

    @Test
    void aGroupIsReleasedWithoutBlockingInOneExchange() {
        PermitGroup group = group(3);
        int before = stage.calls("exchange");
        CompletableFuture<List<ReleaseOutcome>> released = group.releaseAsync();
        stage.settle();
        assertThat(released.join()).hasSize(3).containsOnly(ReleaseOutcome.RELEASED);
        assertThat(stage.calls("exchange")).isEqualTo(before + 1);
    }

    @Test
    void aReleaseThatFailsFailsItsFuture() {
        Permit permit = stage.take();
        stage.outage("exchange", new BackendUnavailableException("down", null));
        CompletableFuture<ReleaseOutcome> released = permit.releaseAsync();
        stage.settle();
        assertThatThrownBy(released::join)
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(OutcomeUnknownException.class);
        stage.outageOver();
        stage.passMillis(400);
        assertThat(stage.free()).isEqualTo(3);
    }

    @Test
    void aQuestionThatDoesNotBlockIsAnsweredOnAWorker() {
        Permit permit = stage.take();
        PermitGroup group = group(2);
        CompletableFuture<Verification> one = permit.verifyAsync();
        CompletableFuture<Verification> all = group.verifyAsync();
        assertThat(stage.calls("check")).isZero();
        stage.settle();
        assertThat(one).isCompletedWithValue(Verification.HELD);
        assertThat(all).isCompletedWithValue(Verification.HELD);
        stage.outage("check", new BackendUnavailableException("down", null));
        CompletableFuture<Verification> failed = permit.verifyAsync();
        stage.settle();
        assertThatThrownBy(failed::join)
                .hasCauseInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("'" + Stage.NAME + "'");
    }

    @Test
    void whatAnAdapterThrowsAgainstItsContractStillIsALeaf() {
        Permit permit = stage.take();
        stage.outage("check", new IllegalStateException("a bug"));
        assertThatThrownBy(permit::verify)
                .isInstanceOf(OutcomeUnknownException.class)
                .hasMessageContainingAll("'" + Stage.NAME + "'", "a bug");
        stage.outage("describe", new IllegalStateException("a bug"));
        assertThatThrownBy(stage.semaphore::availablePermits).isInstanceOf(OutcomeUnknownException.class);
        assertThatThrownBy(() -> stage.client.admin().describe(Stage.NAME)).isInstanceOf(OutcomeUnknownException.class);
        stage.outage("names", new IllegalStateException("a bug"));
        assertThatThrownBy(() -> stage.client.admin().names())
                .isInstanceOf(OutcomeUnknownException.class)
                .hasMessageContaining("a bug");
    }

    @Test
    void severalPermitsCanBeTakenWithoutBlockingAndWithoutALimitOfTime() {
        Permit other = stage.takeAsOther();
        CompletableFuture<PermitGroup> all = stage.semaphore.acquireAsync(3);
        stage.settle();
        assertThat(all).isNotDone();
        other.release();
        stage.settle();
        stage.passMillis(1100);
        assertThat(all.join().permits()).hasSize(3);
        assertThatThrownBy(() -> stage.semaphore.acquireAsync(0)).isInstanceOf(IllegalArgumentException.class);
    }
}
