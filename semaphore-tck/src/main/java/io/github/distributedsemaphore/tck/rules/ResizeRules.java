package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Rules of sections 8 and 12 about the limit: how high it may be, and changes of it. */
@Section
public abstract class ResizeRules {
    private static final int MOST_REPEATS = 5;

    /** More than fit into one request of any protocol, and less than takes long. */
    private static final int MANY = 300;

    /** A busy machine may leave the last of many to the background. Shorter than a lease, so that its end does not help. */
    private static final Duration SOON = Duration.ofSeconds(1);

    private static final int VERY_MANY = 1_000;
    private static final int CROWD = 6;
    private static final int LEFT = 70;

    /** For subclasses. */
    protected ResizeRules() {}

    @Test
    @Rule("8.5")
    void growingAddsExactlyTheDifferenceAndWakesWaiters(TckFixture tck) throws Exception {
        String name = tck.create(1);
        SemaphoreClient here = tck.client(Waiters.hinted(tck));
        Permit held = here.semaphore(name).acquire(tck.patience());
        Task<Permit> local = Waiters.blocked(tck, "waiter", here.semaphore(name));
        Task<Permit> remote = Waiters.blocked(
                tck, "waiter of another client", tck.client(Waiters.hinted(tck)).semaphore(name));
        long since = System.nanoTime();
        here.admin().resize(name, 3);
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
    @Rule("8.5")
    void aClientFromBeforeTakesAllPermitsTogetherAfterGrowing(TckFixture tck) {
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        tck.take(semaphore, 2).forEach(Permit::close);
        tck.client().admin().resize(name, 5);
        assertThat(semaphore.tryAcquire(5))
                .as("all of 5 permits, for a client that knew a limit of 2")
                .hasValueSatisfying(PermitGroup::close);
        tck.client().admin().resize(name, 6);
        Permit held = tck.take(semaphore, 1).get(0);
        assertThat(semaphore.tryAcquire(5))
                .as("the other 5 of 6 permits, for a client that knew a limit of 5")
                .hasValueSatisfying(PermitGroup::close);
        held.close();
        tck.assertFree(name, 6);
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
    void aHolderOfARemovedSlotDoesNotCountAgainstTheNewLimit(TckFixture tck) {
        String name = tck.create(3);
        List<Permit> held = new ArrayList<>(tck.take(tck.home().semaphore(name), 3));
        held.sort(Comparator.comparingInt(Permit::slot));
        SemaphoreClient other = tck.client();
        held.get(0).release();
        held.get(1).release();
        other.admin().resize(name, 2);
        for (SemaphoreClient client : List.of(tck.home(), other)) {
            assertThat(client.semaphore(name).availablePermits())
                    .as("free of two slots, while only slot 3 is held, which was removed")
                    .isEqualTo(2);
            assertThat(client.admin().describe(name).orElseThrow().free())
                    .as("free in the description, while only slot 3 is held, which was removed")
                    .isEqualTo(2);
            assertThat(client.semaphore(name).tryAcquire(2))
                    .as("both permits, while only slot 3 is held, which was removed")
                    .hasValueSatisfying(PermitGroup::close);
        }
        assertThat(held.get(2).verify()).as("the holder of the removed slot").isEqualTo(Verification.RETIRED);
        held.get(2).release();
        tck.assertFree(name, 2);
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

    /** A run of hand-offs counts from the request that brought the slot, however many callers it has served since. */
    @Test
    @Rule("8.7")
    void aRemovedSlotIsNotHandedOnInACrowdForLong(TckFixture tck) throws Exception {
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        AtomicBoolean goesOn = new AtomicBoolean(true);
        Queue<Long> grants = new ConcurrentLinkedQueue<>();
        List<Task<Boolean>> crowd = new ArrayList<>();
        for (int i = 0; i < CROWD; i++) {
            crowd.add(tck.spawn("one of a crowd", () -> {
                while (goesOn.get()) {
                    try (Permit permit = semaphore.acquire(tck.patience())) {
                        if (permit.slot() == 2) {
                            grants.add(System.nanoTime());
                        }
                        Pause.millis(1);
                    }
                }
            }));
        }
        Duration bound = tck.guarantees().handOffBound();
        long end;
        try {
            tck.await("the crowd is granted both slots", () -> grants.size() > 2 * CROWD);
            tck.client().admin().resize(name, 1);
            end = System.nanoTime() + bound.toNanos();
            Pause.millis(bound.plus(tck.quiet()).toMillis());
        } finally {
            goesOn.set(false);
        }
        crowd.forEach(Task::result);
        // One of each thread, which may have been stopped after its grant.
        assertThat(grants.stream().filter(at -> at - end > 0).count())
                .as("grants of a removed slot later than %s after the resize, to %s threads", bound, CROWD)
                .isLessThanOrEqualTo(CROWD);
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

    @Test
    @Rule("12.3")
    void theHighestLimitWorks(TckFixture tck) {
        int most = tck.guarantees().maxPermits();
        String name = createdWith(tck, most);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        assertThat(semaphore.availablePermits())
                .as("free with the highest limit")
                .isEqualTo(most);
        Permit permit = tck.take(semaphore, 1).get(0);
        assertThat(semaphore.availablePermits()).as("free with one held").isEqualTo(most - 1);
        permit.release();
    }

    /** An adapter may split what is too large for one request. */
    @Test
    @Rule({"12.3", "4.7", "2.3"})
    void manyPermitsAreTakenTogetherAndAllComeBack(TckFixture tck) throws Exception {
        int many = Math.min(tck.guarantees().maxPermits(), MANY);
        String name = createdWith(tck, many);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        PermitGroup group = semaphore.acquire(many, tck.patience());
        assertThat(group.permits().stream().map(Permit::slot))
                .as("the slots of a group of %s", many)
                .doesNotHaveDuplicates()
                .hasSize(many);
        Task<Boolean> close = tck.spawn("closing a large group", group::close);
        tck.await("a large group can be closed", close::isDone);
        tck.await("all is free after a large group was closed", SOON, () -> semaphore.availablePermits() == many);
        SemaphoreClient leaving = tck.client();
        PermitGroup left = leaving.semaphore(name).acquire(many, tck.patience());
        Task<Boolean> end = tck.spawn("closing the client of a large group", leaving::close);
        tck.await("the client of a large group can be closed", end::isDone);
        assertThat(left.isValid()).as("a group whose client was closed").isFalse();
        tck.await(
                "all is free after the client of a large group was closed",
                SOON,
                () -> semaphore.availablePermits() == many);
    }

    /** An adapter may look at a part of many slots only. */
    @Test
    @Rule({"8.6", "12.3"})
    void whatManyRemovedSlotsLeaveIsAllGranted(TckFixture tck) {
        String name = createdWith(tck, Math.min(tck.guarantees().maxPermits(), VERY_MANY));
        repeated(() -> tck.client().admin().resize(name, LEFT));
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        List<Permit> held = tck.take(semaphore, LEFT);
        assertThat(held).as("slots after most were removed").allMatch(permit -> permit.slot() <= LEFT);
        assertThat(semaphore.tryAcquire())
                .as("a permit beyond the new limit of %s", LEFT)
                .isEmpty();
        assertThat(tck.home().admin().describe(name).orElseThrow().free())
                .as("free when all are held")
                .isZero();
        held.forEach(Permit::close);
        assertThat(semaphore.availablePermits())
                .as("free after all were released")
                .isEqualTo(LEFT);
    }

    /** A holder keeps its slot through each resize and each destroy, and no other client is granted it. */
    @Test
    @Rule({"8.7", "8.13", "8.15"})
    void throughAnyPlanOfChangesHoldersKeepTheirSlotsToThemselves(TckFixture tck) {
        String name = tck.create(3);
        SemaphoreAdmin admin = tck.client().admin();
        DistributedSemaphore other = tck.client().semaphore(name);
        List<Permit> held = tck.take(tck.home().semaphore(name), 3);
        List<Integer> slots = held.stream().map(Permit::slot).toList();
        StringBuilder plan = new StringBuilder("create 3");
        for (int step = 0; step < tck.rounds(60, 15); step++) {
            int limit = 1 + tck.random().nextInt(5);
            if (tck.random().nextBoolean()) {
                admin.destroy(name);
                admin.create(name, limit);
                plan.append(", destroy and create ").append(limit);
            } else {
                admin.resize(name, limit);
                plan.append(", resize to ").append(limit);
            }
            List<Permit> free = new ArrayList<>();
            for (Optional<Permit> next = other.tryAcquire(); next.isPresent(); next = other.tryAcquire()) {
                free.add(next.get());
            }
            assertThat(free)
                    .as("what others get beside the holders of slots 1 to 3: %s", plan)
                    .noneMatch(permit -> slots.contains(permit.slot()))
                    .hasSize(Math.max(0, limit - 3));
            assertThat(held)
                    .as("the holders of slots 1 to 3: %s", plan)
                    .allMatch(permit ->
                            Set.of(Verification.HELD, Verification.RETIRED).contains(permit.verify()));
            free.forEach(Permit::close);
        }
        held.forEach(Permit::close);
    }

    private static String createdWith(TckFixture tck, int limit) {
        String name = tck.created(tck.uniqueName());
        repeated(() -> tck.home().admin().ensure(name, limit));
        return name;
    }

    /** Where each slot needs a step, a busy machine may break the call off. Repeated, it goes on where it ended. */
    private static void repeated(Runnable call) {
        for (int repeats = 0; ; repeats++) {
            try {
                call.run();
                return;
            } catch (OutcomeUnknownException e) {
                if (repeats == MOST_REPEATS) {
                    throw e;
                }
            }
        }
    }
}
