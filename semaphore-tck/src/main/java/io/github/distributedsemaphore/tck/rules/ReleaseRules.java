package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Section 4: a release frees what its own permit held, once; for tasks under a permit see {@link TaskRules}. */
@Section
public abstract class ReleaseRules {
    private static final int LARGE = 18;

    /** For subclasses. */
    protected ReleaseRules() {}

    @Test
    @Rule("4.1")
    void aSecondReleaseFreesNobodyElsesPermit(TckFixture tck) {
        String name = tck.create(1);
        Permit first = tck.take(tck.home().semaphore(name), 1).get(0);
        assertThat(first.release()).as("what the first release found").isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(first.verify()).as("a released permit").isEqualTo(Verification.RELEASED);
        for (SemaphoreClient client : List.of(tck.home(), tck.client())) {
            Permit next = tck.take(client.semaphore(name), 1).get(0);
            assertThat(first.release()).as("what the second release found").isEqualTo(ReleaseOutcome.ALREADY_RELEASED);
            first.close();
            assertThat(next.verify())
                    .as("the next holder's permit after a second release of the first one's")
                    .isEqualTo(Verification.HELD);
            assertThat(tck.client().semaphore(name).tryAcquire())
                    .as("a second release made room for one more than the limit")
                    .isEmpty();
            next.release();
        }
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("4.2")
    void manyReleasesAtOnceFreeOne(TckFixture tck) throws Exception {
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        for (int unused : tck.repeat(200, Duration.ofMillis(700))) {
            List<Permit> permits = tck.take(semaphore, 2);
            Callable<ReleaseOutcome> release = permits.get(0)::release;
            List<ReleaseOutcome> outcomes = new ArrayList<>();
            for (Task<ReleaseOutcome> task : tck.race("release", Collections.nCopies(6, release))) {
                outcomes.add(task.result());
            }
            assertThat(outcomes)
                    .as("six releases of one permit at once")
                    .containsOnlyOnce(ReleaseOutcome.RELEASED)
                    .containsOnly(ReleaseOutcome.RELEASED, ReleaseOutcome.ALREADY_RELEASED);
            assertThat(semaphore.availablePermits())
                    .as("free after six releases of one permit")
                    .isEqualTo(1);
            permits.get(1).release();
        }
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("4.3")
    void whoIsKnownByTheSameLabelReleasesNothingOfAnothers(TckFixture tck) {
        String name = tck.create(2);
        Permit held = tck.take(tck.client("namesake").semaphore(name), 1).get(0);
        SemaphoreClient namesake = tck.client("namesake");
        tck.take(namesake.semaphore(name), 1).get(0).release();
        assertThat(held.verify())
                .as("a permit, after a client of the same label, host and process released its own")
                .isEqualTo(Verification.HELD);
        tck.take(namesake.semaphore(name), 1);
        namesake.close();
        assertThat(held.verify())
                .as("a permit, after a client of the same label, host and process was closed")
                .isEqualTo(Verification.HELD);
        tck.assertFree(name, 1);
        assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("4.10")
    void aPermitThatBecomesGarbageStaysHeldUntilItsClientEnds(TckFixture tck) {
        String name = tck.create(1);
        // Not through the recording proxies, which refer to the semaphore.
        try (SemaphoreClient forgetful = tck.harness().connect(ClientSpec.plain())) {
            tck.take(forgetful.semaphore(name), 1);
            // The client may refer to its permits, so something else shows that what is garbage is collected.
            WeakReference<Object> garbage = new WeakReference<>(new Object());
            tck.await("what nobody refers to is collected", () -> {
                System.gc();
                // Or nothing is renewed meanwhile on a slow machine.
                Pause.millis(20);
                return garbage.get() == null;
            });
            tck.proveNothing(
                    "the slot of a permit that became garbage stays taken",
                    () -> tck.home().semaphore(name).availablePermits() == 0);
        }
        assertThat(tck.home().semaphore(name).tryAcquire())
                .as("the slot of a permit that became garbage, once its client was closed in order")
                .hasValueSatisfying(Permit::close);
    }

    @Test
    @Rule("4.4")
    void aReleaseAfterALossFreesNotTheSuccessorsPermit(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Permit lost = semaphore.acquire(tck.patience());
        tck.state().removeHolder(name, lost.slot());
        Permit next = tck.client().semaphore(name).acquire(tck.patience());
        ReleaseOutcome outcome = lost.release();
        assertThat(next.verify())
                .as("the successor's permit after the release of the lost one")
                .isEqualTo(Verification.HELD);
        assertThat(semaphore.tryAcquire())
                .as("the release of a lost permit freed the successor's")
                .isEmpty();
        assertThat(outcome).as("what the release of a lost permit found").isEqualTo(ReleaseOutcome.WAS_LOST);
        lost.close();

        next.release();
        tck.assertFree(name, 1);
    }

    @Test
    @Rule({"4.4", "5.3", "6.3"})
    void aSuccessorOfTheSameClientIsLeftAlone(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        for (boolean verified : new boolean[] {false, true}) {
            Permit lost = semaphore.acquire(tck.patience());
            tck.state().removeHolder(name, lost.slot());
            Permit next = semaphore.acquire(tck.patience());
            if (verified) {
                assertThat(lost.verify())
                        .as("a lost permit whose slot another caller of the same client has")
                        .isEqualTo(Verification.LOST);
            }
            ReleaseOutcome outcome = lost.release();
            assertThat(next.verify())
                    .as("the permit of the successor in the same client, after the release of the lost one")
                    .isEqualTo(Verification.HELD);
            assertThat(outcome).as("what the release of a lost permit found").isEqualTo(ReleaseOutcome.WAS_LOST);
            assertThat(tck.client().semaphore(name).tryAcquire())
                    .as("the release of a lost permit freed that of a successor in the same client")
                    .isEmpty();
            next.release();
            tck.assertFree(name, 1);
        }
    }

    /** What its client asks for that caller goes along with the release. */
    @Test
    @Rule({"4.4", "1.2"})
    void aReleaseAfterALossGivesACallerOfTheSameClientNothing(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore =
                tck.client(Waiters.hinted(tck).with("handOffs", "0")).semaphore(name);
        DistributedSemaphore others = tck.client(Waiters.lasting(tck)).semaphore(name);
        Permit lost = tck.take(semaphore, 1).get(0);
        tck.state().removeHolder(name, lost.slot());
        long since = System.nanoTime();
        Permit next = others.acquire(tck.patience());
        CompletableFuture<Permit> waiter = semaphore.acquireAsync();
        tck.proveNothing("a caller waits for what another client holds", () -> !waiter.isDone());
        ReleaseOutcome outcome = lost.release();
        tck.proveHeld(
                "the release of a lost permit gives its slot to no caller of the same client",
                tck.quiet(),
                tck.validity(next.validUntil()),
                () -> !waiter.isDone());
        assertThat(outcome).as("what the release of a lost permit found").isEqualTo(ReleaseOutcome.WAS_LOST);
        Verification held = next.verify();
        if (held != Verification.HELD) {
            tck.abortIfStoodStill(tck.guarantees().detectionMax().dividedBy(4), since);
        }
        assertThat(held)
                .as("the successor's permit after the release of the lost one")
                .isEqualTo(Verification.HELD);
        assertThat(tck.home().semaphore(name).tryAcquire())
                .as("the release of a lost permit freed the successor's")
                .isEmpty();
        next.release();
        Waiters.served(tck, waiter, "the successor's release did not reach the caller that waits")
                .release();
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("4.4")
    void afterAnAbortTheReleaseSaysThatThePermitWasLost(TckFixture tck) throws Exception {
        String name = tck.create(1);
        SemaphoreClient dying = tck.client();
        Permit lost = dying.semaphore(name).acquire(tck.patience());
        dying.abort();
        assertThat(lost.isValid())
                .as("a permit is valid after its client was aborted")
                .isFalse();
        assertThat(lost.release()).as("what the release of a lost permit found").isEqualTo(ReleaseOutcome.WAS_LOST);
        lost.close();
        if (tck.has(Capability.CRASH_RELEASE)) {
            Duration bound =
                    tck.guarantees().detectionMax().plus(tck.guarantees().wakeUpBound());
            long since = System.nanoTime();
            Optional<Permit> next =
                    tck.home().semaphore(name).tryAcquire(tck.scaled(bound).plus(tck.patience()));
            assertThat(next.isPresent() && !tck.isOver(tck.scaled(bound), since))
                    .as("the slot of an aborted client is not free within the declared detection bound")
                    .isTrue();
            next.orElseThrow().release();
        }
    }

    @Test
    @Rule("4.5")
    void anyThreadMayRelease(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = tck.semaphore(1);
        Permit permit =
                tck.spawn("acquirer", () -> semaphore.acquire(tck.patience())).result();
        Task<ReleaseOutcome> releaser = tck.spawn("releaser", permit::release);
        assertThat(releaser.result())
                .as("what a release by another thread than the acquirer's found")
                .isEqualTo(ReleaseOutcome.RELEASED);
        tck.assertFree(semaphore.name(), 1);
    }

    @Test
    @Rule("4.7")
    void aGroupMayBeReleasedInParts(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = tck.semaphore(3);
        PermitGroup group = semaphore.acquire(3, tck.patience());
        assertThat(group.isValid()).as("a group that is held is valid").isTrue();
        assertThat(group.permits().get(1).release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(group.isValid())
                .as("a group is valid although a permit of it was released")
                .isFalse();
        assertThat(semaphore.availablePermits())
                .as("free after one of a group of three was released")
                .isEqualTo(1);
        Permit other = tck.client().semaphore(semaphore.name()).acquire(tck.patience());
        assertThat(group.release())
                .as("what the release of the rest of a group found")
                .containsExactly(ReleaseOutcome.RELEASED, ReleaseOutcome.ALREADY_RELEASED, ReleaseOutcome.RELEASED);
        assertThat(other.verify())
                .as("another's permit in the slot that the group gave up before")
                .isEqualTo(Verification.HELD);
        group.close();
        assertThat(semaphore.availablePermits())
                .as("free after the group was released")
                .isEqualTo(2);
        other.release();
        tck.assertFree(semaphore.name(), 3);
    }

    /** Where a limit is great, a backend may go by how many hold instead of looking at each slot. */
    @Test
    @Rule("4.7")
    void whatALargeGroupGaveBackIsFreeForOthers(TckFixture tck) throws Exception {
        String name = tck.create(LARGE);
        DistributedSemaphore semaphore = tck.client().semaphore(name);
        DistributedSemaphore others = tck.home().semaphore(name);
        PermitGroup group = semaphore.acquire(LARGE, tck.patience());
        assertThat(others.tryAcquire())
                .as("an attempt while one group holds all slots")
                .isEmpty();
        group.release();
        Permit again = tck.take(semaphore, 1).get(0);
        List<PermitGroup> rest = new ArrayList<>();
        tck.await(
                "an attempt of another client gets all slots that a group gave back but one, which is held again",
                () -> {
                    others.tryAcquire(LARGE - 1).ifPresent(rest::add);
                    return !rest.isEmpty();
                });
        rest.get(0).release();
        again.release();
        tck.assertFree(name, LARGE);
    }

    @Test
    @Rule("4.8")
    void noSequenceOfReleasesRaisesTheLimit(TckFixture tck) {
        String name = tck.create(3);
        List<DistributedSemaphore> views =
                List.of(tck.home().semaphore(name), tck.client().semaphore(name));
        Random random = tck.random();
        List<Permit> seen = new ArrayList<>();
        for (int step : tck.repeat(2_000, Duration.ofMillis(700))) {
            DistributedSemaphore view = views.get(random.nextInt(2));
            switch (random.nextInt(4)) {
                case 0 -> view.tryAcquire().ifPresent(seen::add);
                case 1 ->
                    seen.stream()
                            .skip(random.nextInt(seen.size() + 1))
                            .findFirst()
                            .ifPresent(Permit::release);
                case 2 ->
                    seen.stream()
                            .skip(random.nextInt(seen.size() + 1))
                            .findFirst()
                            .ifPresent(Permit::close);
                default -> {
                    Optional<PermitGroup> group = view.tryAcquire(1 + random.nextInt(3));
                    group.ifPresent(held -> seen.addAll(held.permits()));
                }
            }
            assertThat(seen.stream().filter(Permit::isValid).count())
                    .as("valid permits after %s random steps, the limit is 3", step)
                    .isLessThanOrEqualTo(3);
        }
        seen.forEach(Permit::close);
        seen.forEach(Permit::close);
        tck.assertFree(name, 3);
    }
}
