package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Section 5: what a permit says about itself. */
@Section
public abstract class VerificationRules {
    /** For subclasses. */
    protected VerificationRules() {}

    @Test
    @Rule({"5.1", "5.4"})
    void verifyTellsHeldReleasedAndLost(TckFixture tck) throws Exception {
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Permit permit = semaphore.acquire(tck.patience());
        assertThat(permit.semaphoreName()).as("the name that a permit tells").isEqualTo(name);
        assertThat(permit.verify()).as("a permit that is held").isEqualTo(Verification.HELD);
        assertThat(permit.isValid()).as("a permit that is held is valid").isTrue();
        permit.release();
        assertThat(permit.verify()).as("a permit that was released").isEqualTo(Verification.RELEASED);
        assertThat(permit.isValid()).as("a permit is valid after its release").isFalse();
        SemaphoreClient dying = tck.client();
        Permit aborted = dying.semaphore(name).acquire(tck.patience());
        dying.abort();
        assertThat(aborted.verify()).as("a permit whose client was aborted").isEqualTo(Verification.LOST);
        assertPast("a permit whose client was aborted", aborted.validUntil());
    }

    private static void assertPast(String what, Deadline validUntil) {
        assertThat(validUntil.isPast(System.nanoTime()))
                .as("the validity of %s lies in the past", what)
                .isTrue();
    }

    @Test
    @Rule({"5.1", "5.4"})
    void verifyTellsOfAHolderThatWasRemoved(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Permit permit = tck.home().semaphore(name).acquire(tck.patience());
        tck.state().removeHolder(name, permit.slot());
        tck.await(
                "verify tells that the holder was removed",
                tck.guarantees().lossNoticeBound(),
                () -> permit.verify() == Verification.LOST);
        assertThat(permit.isValid())
                .as("a permit is valid although verify found it lost")
                .isFalse();
        assertPast("a permit that verify found lost", permit.validUntil());
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("5.3")
    void onceAnotherHoldsTheSlotTheOldPermitIsLostForEver(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Permit old = tck.home().semaphore(name).acquire(tck.patience());
        tck.state().removeHolder(name, old.slot());
        Permit next = tck.client().semaphore(name).acquire(tck.patience());
        for (int unused : tck.repeat(100, Duration.ofMillis(300))) {
            assertThat(old.verify())
                    .as("the old holder's permit while another holds the slot")
                    .isEqualTo(Verification.LOST);
            assertThat(old.isValid())
                    .as("a permit is valid although another holds its slot")
                    .isFalse();
        }
        next.release();
        assertThat(old.verify()).as("a lost permit when the slot is free again").isEqualTo(Verification.LOST);
    }

    @Test
    @Rule("5.4")
    void validityIsNeverOverestimated(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        for (int unused : tck.repeat(50, Duration.ofMillis(500))) {
            long before = System.nanoTime();
            Permit permit = semaphore.acquire(tck.patience());
            Deadline validUntil = permit.validUntil();
            if (!tck.has(Capability.LEASE)) {
                assertThat(validUntil)
                        .as("the validity where the backend takes no slot from a living process")
                        .isEqualTo(Deadline.NEVER);
            } else {
                assertThat(validUntil.isNever())
                        .as("a permit of a backend with leases is valid without end")
                        .isFalse();
                assertThat(Duration.ofNanos(validUntil.nanosFrom(System.nanoTime())))
                        .as("validity is over-estimated: it reaches beyond the declared detection bound, when a dead"
                                + " holder's slot is free for others")
                        .isLessThanOrEqualTo(tck.guarantees().detectionMax());
                assertThat(validUntil.isPast(before))
                        .as("validity that ended before it began")
                        .isFalse();
            }
            permit.release();
            assertThat(permit.validUntil().isPast(System.nanoTime()))
                    .as("a released permit's validity lies in the past")
                    .isTrue();
        }
    }

    @Test
    @Rule({"5.1", "5.4"})
    void aGroupTellsTheWorstOfItsPermits(TckFixture tck) throws Exception {
        String name = tck.create(2);
        PermitGroup group = tck.home().semaphore(name).acquire(2, tck.patience());
        assertThat(group.semaphoreName()).as("the name that a group tells").isEqualTo(name);
        assertThat(group.verify()).as("a group that is held").isEqualTo(Verification.HELD);
        assertThat(group.isValid()).as("a group that is held is valid").isTrue();
        assertThat(group.validUntil().isPast(System.nanoTime()))
                .as("the validity of a group that is held is over")
                .isFalse();
        tck.home().admin().resize(name, 1);
        assertThat(group.verify()).as("a group of which one slot was removed").isEqualTo(Verification.RETIRED);
        tck.home().admin().resize(name, 2);
        assertThat(group.verify()).as("a group whose slots are all there again").isEqualTo(Verification.HELD);
        group.permits().get(0).release();
        assertThat(group.verify()).as("a group of which one was released").isEqualTo(Verification.RELEASED);
        assertThat(group.isValid()).as("a group of which one was released").isFalse();
        assertPast("a group of which one was released", group.validUntil());
        AtomicInteger losses = new AtomicInteger();
        group.onLost(loss -> losses.incrementAndGet());
        tck.state().removeHolder(name, group.permits().get(1).slot());
        tck.await(
                "a group is lost with one of its permits",
                tck.guarantees().lossNoticeBound(),
                () -> group.verify() == Verification.LOST);
        tck.await("the loss of a permit of a group is reported", () -> losses.get() == 1);
        group.close();
        tck.assertFree(name, 2);
    }
}
