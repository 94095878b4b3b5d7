package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentSkipListSet;
import org.junit.jupiter.api.Test;

/** Section 8: changes of the limit. */
@Section
public abstract class ResizeRules {
    /** For subclasses. */
    protected ResizeRules() {}

    @Test
    @Rule("8.5")
    void growingAddsExactlyTheDifferenceAndWakesWaiters(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Permit held = tck.home().semaphore(name).acquire(tck.patience());
        Task<Permit> local = Waiters.blocked(tck, "waiter", tck.home().semaphore(name));
        Task<Permit> remote =
                Waiters.blocked(tck, "waiter of another client", tck.client().semaphore(name));
        long since = System.nanoTime();
        tck.client().admin().resize(name, 3);
        List<Permit> permits = List.of(
                held,
                Waiters.served(tck, local, since, "growing did not wake a waiter"),
                Waiters.served(tck, remote, since, "growing did not wake a waiter of another client"));
        assertThat(tck.home().semaphore(name).tryAcquire())
                .as("growing from 1 to 3 made room for more than 3")
                .isEmpty();
        assertThat(held.verify()).as("a holder after growing").isEqualTo(Verification.HELD);
        permits.forEach(Permit::close);
        tck.assertFree(name, 3);
    }

    @Test
    @Rule("8.6")
    void shrinkingIsInForceWhenItReturns(TckFixture tck) {
        String name = tck.create(4);
        SemaphoreAdmin admin = tck.home().admin();
        DistributedSemaphore other = tck.client().semaphore(name);
        tck.take(other, 4).forEach(Permit::close); // whatever a client may keep ready for itself
        for (int limit : new int[] {3, 1}) {
            admin.resize(name, limit);
            List<Permit> held = tck.take(other, limit);
            assertThat(other.tryAcquire())
                    .as("a permit was granted beyond the new limit of %s", limit)
                    .isEmpty();
            assertThat(held).as("slots after shrinking to %s", limit).allMatch(permit -> permit.slot() <= limit);
            held.forEach(Permit::close);
        }
        assertThat(admin.describe(name).orElseThrow().limit())
                .as("the limit after shrinking")
                .isEqualTo(1);
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("8.7")
    void shrinkingBelowTheHoldersLeavesThemAndGrantsNothing(TckFixture tck) throws Exception {
        String name = tck.create(3);
        List<Permit> held = new ArrayList<>(tck.take(tck.home().semaphore(name), 3));
        held.sort(Comparator.comparingInt(Permit::slot));
        SemaphoreAdmin admin = tck.client().admin();
        admin.resize(name, 1);
        assertThat(held.stream().map(Permit::verify))
                .as("the holders of slots 1, 2 and 3 after shrinking to 1")
                .containsExactly(Verification.HELD, Verification.RETIRED, Verification.RETIRED);
        assertThat(held).as("shrinking took a permit from its holder").allMatch(Permit::isValid);
        assertThat(tck.home().semaphore(name).availablePermits())
                .as("free after shrinking below the holders")
                .isZero();
        DistributedSemaphore other = tck.client().semaphore(name);
        held.get(1).release();
        assertThat(other.tryAcquire())
                .as("a removed slot was granted after its release")
                .isEmpty();
        assertThat(admin.awaitReleased(name, Duration.ZERO))
                .as("all removed slots are said to be released while one is held")
                .isFalse();
        Task<Boolean> waiter = tck.spawn("awaitReleased", () -> admin.awaitReleased(name, tck.patience()));
        waiter.awaitBlocked();
        held.get(2).release();
        assertThat(waiter.result()).as("all removed slots are released").isTrue();
        assertThat(other.tryAcquire()).as("a permit beyond the new limit of 1").isEmpty();
        held.get(0).release();
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("8.7")
    void aRemovedSlotIsNotHandedOnToAWaiterOfTheSameClient(TckFixture tck) throws Exception {
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        List<Permit> held = new ArrayList<>(tck.take(semaphore, 2));
        held.sort(Comparator.comparingInt(Permit::slot));
        Task<Permit> waiter = Waiters.blocked(tck, "local waiter", semaphore);
        tck.client().admin().resize(name, 1);
        // For so long a client need not have noticed.
        tck.proveNothing(
                "nobody released", tck.guarantees().handOffBound().plus(Duration.ofMillis(1)), () -> !waiter.isDone());
        held.get(1).release();
        tck.proveNothing("a removed slot is not handed on within the client", () -> !waiter.isDone());
        long since = System.nanoTime();
        held.get(0).release();
        Permit permit = Waiters.served(tck, waiter, since, "the slot that is left did not reach the waiter");
        assertThat(permit.slot())
                .as("the slot that the waiter got after shrinking to 1")
                .isEqualTo(1);
        permit.release();
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("8.7")
    void aRemovedSlotThatComesBackIsHeldByItsHolder(TckFixture tck) throws Exception {
        String name = tck.create(2);
        List<Permit> held = tck.take(tck.home().semaphore(name), 2);
        SemaphoreAdmin admin = tck.client().admin();
        admin.resize(name, 1);
        admin.resize(name, 2);
        assertThat(held.stream().map(Permit::verify))
                .as("both holders after shrinking and growing again")
                .containsOnly(Verification.HELD);
        assertThat(tck.client().semaphore(name).tryAcquire())
                .as("shrinking and growing again made room beside the holders")
                .isEmpty();
        held.forEach(Permit::close);
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("8.8")
    void concurrentResizesEndWithOneOfThem(TckFixture tck) throws Exception {
        String name = tck.create(2);
        List<SemaphoreClient> clients = List.of(tck.home(), tck.client(), tck.client());
        Random random = tck.random();
        for (int unused : tck.repeat(100, Duration.ofMillis(1_200))) {
            Set<Integer> wanted = new ConcurrentSkipListSet<>();
            List<Callable<Void>> resizes = new ArrayList<>();
            for (SemaphoreClient client : clients) {
                int limit = 1 + random.nextInt(5);
                wanted.add(limit);
                resizes.add(() -> {
                    client.admin().resize(name, limit);
                    return null;
                });
            }
            for (Task<Void> resize : tck.race("resize", resizes)) {
                resize.result();
            }
            int limit = tck.home().admin().describe(name).orElseThrow().limit();
            assertThat(wanted)
                    .as("the limits that were asked for contain the one that is stored")
                    .contains(limit);
            tck.assertFree(name, limit);
        }
    }
}
