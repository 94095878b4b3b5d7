package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Fence;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import io.github.distributedsemaphore.tck.history.Workload;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.GuardedStore;
import io.github.distributedsemaphore.tck.watch.LongHolds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Section 7: fencing. Where it is not declared, that there is none. */
@Section
public abstract class FencingRules {
    private static final Duration BUDGET = Duration.ofSeconds(2);

    /** Where an int ends, and a double stops to have every number. */
    private static final List<Long> NUMBERS_END = List.of(1L << 31, 1L << 53);

    private static final int BELOW = 3;

    /** For subclasses. */
    protected FencingRules() {}

    @Test
    @Rule("7.1")
    void theFenceOfASlotRisesWithEachPermitOrThereIsNone(TckFixture tck) {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        DistributedSemaphore elsewhere = tck.client().semaphore(name);
        long before = -1;
        for (int round : tck.repeat(1_000, BUDGET)) {
            Permit permit = tck.take(round % 2 == 0 ? semaphore : elsewhere, 1).get(0);
            if (!tck.has(Capability.FENCING)) {
                assertThatThrownBy(permit::fence)
                        .as("fence() where FENCING is not declared")
                        .isInstanceOf(UnsupportedOperationException.class);
                return;
            }
            Fence fence = permit.fence();
            assertThat(fence.slot()).as("the slot of the fence").isEqualTo(permit.slot());
            assertThat(fence.epoch())
                    .as("epoch of round %d, after epoch %d", round, before)
                    .isGreaterThan(before);
            before = fence.epoch();
            permit.release();
        }
    }

    @Test
    @Rule("7.1")
    void fencesAreUniqueAndRiseWhileClientsContend(TckFixture tck) {
        requireFencing(tck);
        String name = tck.create(2);
        tck.contend(name, 2, Workload.of(2, 6, tck.seed()).withLargest(2).withRounds(tck.rounds(5_000, 300), 3_000));
    }

    @Test
    @Rule("7.2")
    void fencesGoOnRisingAfterACrashAndInANewClient(TckFixture tck) throws Exception {
        requireFencing(tck);
        String name = tck.create(1);
        SemaphoreClient crashing = tck.client();
        Permit lost = tck.take(crashing.semaphore(name), 1).get(0);
        long before = lost.fence().epoch();
        if (tck.has(Capability.CRASH_RELEASE)) {
            crashing.abort();
        } else {
            crashing.close();
        }
        Permit next = tck.client().semaphore(name).acquire(tck.patience().plus(detection(tck)));
        assertThat(next.fence().epoch())
                .as("epoch after the crash of the holder of epoch %d", before)
                .isGreaterThan(before);
        next.release();
    }

    @Test
    @Rule("7.2")
    void fencesGoOnRisingAfterAHolderWasRemoved(TckFixture tck) throws Exception {
        requireFencing(tck);
        String name = tck.create(1);
        long before = -1;
        for (int round = 0; round < 3; round++) {
            Permit removed = tck.take(tck.home().semaphore(name), 1).get(0);
            assertThat(removed.fence().epoch())
                    .as("epoch of slot %d after its holder, of epoch %d, was removed", removed.slot(), before)
                    .isGreaterThan(before);
            before = removed.fence().epoch();
            tck.state().removeHolder(name, removed.slot());
            Permit next = tck.client().semaphore(name).acquire(tck.patience());
            assertThat(next.slot()).as("the slot that is granted next").isEqualTo(removed.slot());
            assertThat(next.fence().epoch())
                    .as("epoch of slot %d after its holder, of epoch %d, was removed", next.slot(), before)
                    .isGreaterThan(before);
            before = next.fence().epoch();
            assertThat(removed.release()).isEqualTo(ReleaseOutcome.WAS_LOST);
            next.release();
        }
    }

    @Test
    @Rule("7.2")
    void fencesGoOnRisingAfterASlotWasRemovedAndAdded(TckFixture tck) {
        requireFencing(tck);
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        long before = -1;
        for (int round = 0; round < 3; round++) {
            List<Permit> held = tck.take(semaphore, 2);
            long epoch = held.stream()
                    .filter(permit -> permit.slot() == 2)
                    .findFirst()
                    .orElseThrow()
                    .fence()
                    .epoch();
            assertThat(epoch)
                    .as("epoch of slot 2 after it was removed and added, before it was %d", before)
                    .isGreaterThan(before);
            before = epoch;
            tck.client().admin().resize(name, 1);
            held.forEach(Permit::close);
            tck.client().admin().resize(name, 2);
        }
    }

    /** An attempt may have drawn an epoch before it finds that its slot was removed. By the next attempt that epoch is old. */
    @Test
    @Rule("7.1")
    void anAttemptAtARemovedSlotLeavesNoEpochForTheNext(TckFixture tck) {
        requireFencing(tck);
        String name = tck.create(3);
        DistributedSemaphore semaphore = tck.client().semaphore(name);
        List<Permit> held = tck.take(tck.home().semaphore(name), 3);
        held.stream().filter(permit -> permit.slot() == 3).forEach(Permit::release);
        tck.take(semaphore, 1).get(0).release();
        tck.home().admin().resize(name, 2);
        assertThat(semaphore.tryAcquire())
                .as("an attempt while both slots that are left are held")
                .isEmpty();
        held.stream().filter(permit -> permit.slot() == 1).forEach(Permit::release);
        Permit before = tck.take(tck.client().semaphore(name), 1).get(0);
        before.release();
        Permit next = tck.take(semaphore, 1).get(0);
        assertThat(next.fence().epoch())
                .as("epoch of slot 1 after %s, granted to a client that had tried a removed slot", before.fence())
                .isGreaterThan(before.fence().epoch());
        next.release();
        held.forEach(Permit::close);
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("7.2")
    void fencesGoOnRisingAfterDestructionIfThatIsDeclared(TckFixture tck) {
        String name = tck.create(1);
        Permit first = tck.take(tck.home().semaphore(name), 1).get(0);
        first.release();
        tck.home().admin().destroy(name);
        tck.home().admin().create(name, 1);
        Permit second = tck.take(tck.client().semaphore(name), 1).get(0);
        if (tck.has(Capability.DURABLE_FENCING)) {
            assertThat(second.fence().epoch())
                    .as("epoch after the semaphore was destroyed and created again, before it was %s", first.fence())
                    .isGreaterThan(first.fence().epoch());
        } else if (tck.has(Capability.FENCING)) {
            assertThat(second.fence().slot()).isEqualTo(1);
        } else {
            assertThatThrownBy(second::fence).isInstanceOf(UnsupportedOperationException.class);
        }
    }

    /** A client that passes slots on among its threads may use up many epochs with each grant, more than a clock counts meanwhile. */
    @Test
    @Rule("7.2")
    void fencesGoOnRisingAfterDestructionHoweverManyWereUsed(TckFixture tck) {
        if (!tck.has(Capability.DURABLE_FENCING)) {
            throw new TestAbortedException("DURABLE_FENCING is not declared");
        }
        String name = tck.create(1);
        DistributedSemaphore greedy =
                tck.client(ClientSpec.plain().with("handOffs", "10000")).semaphore(name);
        List<Long> epochs = new ArrayList<>();
        for (int unused : tck.repeat(40, Duration.ofSeconds(1))) {
            takeAndNote(tck, greedy, epochs);
        }
        tck.home().admin().destroy(name);
        tck.home().admin().create(name, 1);
        takeAndNote(tck, tck.client().semaphore(name), epochs);
        assertThat(epochs)
                .as("epochs, of which the last is from after the semaphore was destroyed and created again")
                .isSorted()
                .doesNotHaveDuplicates();
    }

    /** What holders of an earlier semaphore leave may have an end. What the new one counts from must have none. */
    @Test
    @Rule("7.2")
    void fencesGoOnRisingLongAfterASemaphoreWasCreatedAgainUnderAHolder(TckFixture tck) {
        if (!tck.has(Capability.DURABLE_FENCING)) {
            throw new TestAbortedException("DURABLE_FENCING is not declared");
        }
        Duration later = tck.scaled(tck.guarantees().detectionMax()).multipliedBy(2);
        LongHolds.assumeTimeFor(tck, later);
        String name = tck.create(2);
        Permit held = tck.take(tck.client().semaphore(name), 1).get(0);
        Duration validity = tck.validity(held.validUntil());
        long since = System.nanoTime();
        tck.home().admin().destroy(name);
        tck.home().admin().create(name, 2);
        List<Long> epochs = new ArrayList<>();
        takeAndNote(tck, tck.home().semaphore(name), epochs);
        takeAndNote(tck, tck.home().semaphore(name), epochs);
        Pause.millis(later.toMillis());
        takeAndNote(tck, tck.home().semaphore(name), epochs);
        // Else the slot that is taken last may be the one that was held.
        tck.abortIfStoodStill(validity, since);
        assertThat(epochs)
                .as("epochs of the slot that was free, of which the last is from later")
                .isSorted()
                .doesNotHaveDuplicates();
        held.release();
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("7.3")
    void eachPermitOfAGroupHasItsOwnFenceForGood(TckFixture tck) throws Exception {
        requireFencing(tck);
        DistributedSemaphore semaphore = tck.semaphore(3);
        PermitGroup group = semaphore.acquire(3, tck.patience());
        List<Fence> fences = fences(group);
        assertThat(fences).as("slots of the fences").extracting(Fence::slot).containsExactly(1, 2, 3);
        awaitRenewal(tck, group.permits().get(0));
        assertThat(fences(group)).as("the fences after a renewal").isEqualTo(fences);
        group.permits().get(1).release();
        assertThat(fences(group)).as("the fences after a release").isEqualTo(fences);
        group.release();
        assertThat(fences(group)).as("the fences after the last release").isEqualTo(fences);
    }

    @Test
    @Rule("7.3")
    void theFenceCanBeReadAfterALoss(TckFixture tck) {
        requireFencing(tck);
        SemaphoreClient crashing = tck.client();
        Permit permit = tck.take(crashing.semaphore(tck.create(1)), 1).get(0);
        Fence fence = permit.fence();
        crashing.abort();
        assertThat(permit.fence()).isEqualTo(fence);
    }

    @Test
    @Rule("7.4")
    void aStoreThatComparesFencesRefusesTheFormerHolder(TckFixture tck) throws Exception {
        requireFencing(tck);
        if (!tck.has(Capability.CRASH_RELEASE)) {
            throw new TestAbortedException("CRASH_RELEASE is not declared, so the slot has no successor");
        }
        String name = tck.create(1);
        SemaphoreClient former = tck.client();
        Permit late = tck.take(former.semaphore(name), 1).get(0);
        GuardedStore store = new GuardedStore();
        assertThat(store.write(late.fence())).as("the holder writes").isTrue();
        former.abort();
        Permit successor = tck.home().semaphore(name).acquire(tck.patience().plus(detection(tck)));
        assertThat(store.write(successor.fence())).as("its successor writes").isTrue();
        assertThat(store.write(late.fence()))
                .as("the former holder writes late")
                .isFalse();
    }

    @Test
    @Rule("7.5")
    void epochsRiseFromGrantToGrantWhereSmallerNumbersEnd(TckFixture tck) {
        requireFencing(tck);
        // Without hand-off a client reserves a single epoch with each permit, so that none is skipped.
        ClientSpec single = ClientSpec.plain().with("handOffs", "0");
        List<SemaphoreClient> clients = List.of(tck.client(single), tck.client(single));
        for (long boundary : NUMBERS_END) {
            String name = planted(tck, boundary);
            List<Long> epochs = new ArrayList<>();
            for (int round = 0; round < 10; round++) {
                takeAndNote(tck, clients.get(round % 2).semaphore(name), epochs);
            }
            assertRisesBeyond(boundary, epochs);
        }
    }

    @Test
    @Rule("7.5")
    void epochsRiseWithinAClientWhereSmallerNumbersEnd(TckFixture tck) {
        requireFencing(tck);
        for (long boundary : NUMBERS_END) {
            DistributedSemaphore semaphore = tck.home().semaphore(planted(tck, boundary));
            List<Long> epochs = Collections.synchronizedList(new ArrayList<>());
            Callable<Boolean> holder = () -> {
                for (int round = 0; round < 20; round++) {
                    try (Permit permit = semaphore.acquire(tck.patience())) {
                        epochs.add(permit.fence().epoch());
                    }
                }
                return true;
            };
            tck.race("holder", holder, holder).forEach(Task::result);
            takeAndNote(tck, tck.client().semaphore(semaphore.name()), epochs);
            assertRisesBeyond(boundary, epochs);
        }
    }

    private static String planted(TckFixture tck, long boundary) {
        StateProbe state = tck.state();
        String name = tck.create(1);
        state.plantEpoch(name, boundary - BELOW);
        return name;
    }

    private static void takeAndNote(TckFixture tck, DistributedSemaphore semaphore, List<Long> epochs) {
        Permit permit = tck.take(semaphore, 1).get(0);
        epochs.add(permit.fence().epoch());
        permit.release();
    }

    private static void assertRisesBeyond(long boundary, List<Long> epochs) {
        assertThat(epochs.get(0))
                .as("the first epoch where %d was planted", boundary - BELOW)
                .isBetween(boundary - BELOW, boundary - 1);
        for (int i = 1; i < epochs.size(); i++) {
            assertThat(epochs.get(i))
                    .as("an epoch after %d, near %d; all: %s", epochs.get(i - 1), boundary, epochs)
                    .isPositive()
                    .isGreaterThan(epochs.get(i - 1));
        }
        assertThat(epochs.get(epochs.size() - 1)).as("the last epoch").isGreaterThan(boundary);
    }

    private static Duration detection(TckFixture tck) {
        return tck.scaled(tck.guarantees().detectionMax());
    }

    private static void requireFencing(TckFixture tck) {
        if (!tck.has(Capability.FENCING)) {
            throw new TestAbortedException("FENCING is not declared, which 7.1 shows");
        }
    }

    private static List<Fence> fences(PermitGroup group) {
        List<Fence> fences = new ArrayList<>();
        group.permits().forEach(permit -> fences.add(permit.fence()));
        return fences;
    }

    private static void awaitRenewal(TckFixture tck, Permit permit) {
        if (tck.has(Capability.LEASE)) {
            long now = System.nanoTime();
            long until = permit.validUntil().nanosFrom(now);
            tck.await(
                    "the validity moves on with a renewal",
                    tck.guarantees().detectionMax().plus(tck.patience()),
                    () -> permit.validUntil().nanosFrom(now) > until);
        }
    }
}
