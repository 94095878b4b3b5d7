package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.watch.LongHolds;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Section 8: create and destroy; for changes of the limit see {@link ResizeRules}. */
@Section
public abstract class AdministrationRules {
    private static final Duration LONGER = Duration.ofMillis(2_500);

    /** For subclasses. */
    protected AdministrationRules() {}

    @Test
    @Rule("8.1")
    void creatingAgainWithTheSameLimitChangesNothing(TckFixture tck) {
        String name = tck.created(tck.uniqueName());
        SemaphoreAdmin admin = tck.home().admin();
        assertThat(admin.create(name, 3)).as("the first create created it").isTrue();
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        assertThat(semaphore.availablePermits()).as("free after create").isEqualTo(3);
        List<Permit> held = tck.take(semaphore, 3);
        assertThat(tck.client().admin().create(name, 3))
                .as("the second create created it")
                .isFalse();
        assertThat(semaphore.tryAcquire())
                .as("a create of what exists made room while all permits were held")
                .isEmpty();
        assertThat(held.get(2).verify()).as("a permit after a second create").isEqualTo(Verification.HELD);
        held.forEach(Permit::close);
        tck.assertFree(name, 3);
    }

    @Test
    @Rule("8.2")
    void creatingWithAnotherLimitIsAConflictAndChangesNothing(TckFixture tck) {
        String name = tck.create(2);
        Permit held = tck.take(tck.home().semaphore(name), 1).get(0);
        for (int other : new int[] {1, 3}) {
            assertThatThrownBy(
                            () -> tck.client().admin().create(name, other),
                            "a create with limit %s where it is 2",
                            other)
                    .isInstanceOfSatisfying(LimitConflictException.class, e -> {
                        assertThat(e.found()).as("the limit that was found").isEqualTo(2);
                        assertThat(e.requested())
                                .as("the limit that was asked for")
                                .isEqualTo(other);
                    })
                    .hasMessageContaining(name);
            assertThat(tck.home().admin().describe(name).orElseThrow().limit())
                    .as("the limit after a conflicting create")
                    .isEqualTo(2);
        }
        assertThat(held.verify()).as("a permit after a conflicting create").isEqualTo(Verification.HELD);
        held.release();
        tck.assertFree(name, 2);
    }

    @Test
    @Rule({"8.3", "8.12"})
    void manyCreatesAtOnceMakeOneSemaphoreAndOfManyDestroysOneFindsIt(TckFixture tck) {
        List<SemaphoreClient> clients = List.of(tck.home(), tck.client(), tck.client(), tck.client());
        for (int unused : tck.repeat(50, Duration.ofSeconds(1))) {
            String name = tck.created(tck.uniqueName());
            assertThat(winners(tck, clients, admin -> admin.create(name, 2)))
                    .as("of four creates at once that said they created it")
                    .isEqualTo(1);
            tck.assertFree(name, 2);
            // Where it takes a step for each slot, several may find something to remove.
            assertThat(winners(tck, clients, admin -> admin.destroy(name)))
                    .as("of four destroys at once that said there was a semaphore")
                    .isBetween(1L, tck.has(Capability.ATOMIC_ADMINISTRATION) ? 1L : clients.size());
        }
    }

    /** How many of the clients say of a call that it did something, if all make it at once. */
    private static long winners(TckFixture tck, List<SemaphoreClient> clients, Predicate<SemaphoreAdmin> call) {
        List<Callable<Boolean>> calls = new ArrayList<>();
        clients.forEach(client -> calls.add(() -> call.test(client.admin())));
        return tck.race("administrator", calls).stream().filter(Task::result).count();
    }

    @Test
    @Rule({"8.3", "8.2"})
    void ofDifferentCreatesAtOnceOneWinsAndTheOthersConflict(TckFixture tck) throws Exception {
        List<SemaphoreClient> clients = List.of(tck.home(), tck.client(), tck.client());
        for (int unused : tck.repeat(50, Duration.ofSeconds(1))) {
            String name = tck.created(tck.uniqueName());
            List<Callable<Integer>> creates = new ArrayList<>();
            for (int i = 0; i < clients.size(); i++) {
                SemaphoreClient client = clients.get(i);
                int limit = i + 1;
                creates.add(() -> {
                    try {
                        return client.admin().create(name, limit) ? limit : -1;
                    } catch (LimitConflictException e) {
                        return 0;
                    }
                });
            }
            List<Integer> winners = new ArrayList<>();
            for (Task<Integer> create : tck.race("create", creates)) {
                winners.add(create.result());
            }
            winners.removeIf(limit -> limit == 0);
            assertThat(winners)
                    .as("winners among creates with limits 1, 2 and 3 at once")
                    .hasSize(1);
            tck.assertFree(name, winners.get(0));
            tck.home().admin().destroy(name);
        }
    }

    @Test
    @Rule("8.4")
    void aMissingNameIsAnErrorOfItsOwnAndNothingIsConjured(TckFixture tck) throws Exception {
        String name = tck.uniqueName("missing");
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        SemaphoreAdmin admin = tck.home().admin();
        Map<String, ThrowingCallable> uses = new LinkedHashMap<>();
        uses.put("tryAcquire()", semaphore::tryAcquire);
        uses.put("tryAcquire(maxWait)", () -> semaphore.tryAcquire(tck.patience()));
        uses.put("tryAcquire(permits)", () -> semaphore.tryAcquire(2));
        uses.put("acquire()", semaphore::acquire);
        uses.put("acquire(maxWait)", () -> semaphore.acquire(tck.patience()));
        uses.put("acquire(permits, maxWait)", () -> semaphore.acquire(2, tck.patience()));
        uses.put("acquireAsync()", () -> Waiters.joined(semaphore.acquireAsync(), tck.patience()));
        uses.put("availablePermits()", semaphore::availablePermits);
        uses.put("resize", () -> admin.resize(name, 2));
        uses.forEach((use, call) -> assertThatThrownBy(call, "%s of a semaphore that does not exist", use)
                .isInstanceOf(NoSuchSemaphoreException.class)
                .hasMessageContaining(name));
        assertThat(admin.describe(name))
                .as("a semaphore was conjured by its use")
                .isEmpty();
        assertThat(admin.destroy(name))
                .as("the destruction of what does not exist found something")
                .isFalse();
        assertThat(admin.awaitReleased(name, Duration.ZERO))
                .as("no removed slot is held")
                .isTrue();
        if (tck.has(Capability.LISTING)) {
            assertThat(admin.names()).as("the names of the semaphores").doesNotContain(name);
        }
    }

    @Test
    @Rule("8.12")
    void afterDestroyNothingIsThereAndAnewThereAreExactlyTheLimit(TckFixture tck) {
        String name = tck.create(2);
        SemaphoreAdmin admin = tck.home().admin();
        tck.take(tck.home().semaphore(name), 2).forEach(Permit::close);
        assertThat(admin.destroy(name)).as("destroy found it").isTrue();
        assertThat(admin.describe(name))
                .as("a destroyed semaphore is still described")
                .isEmpty();
        assertThatThrownBy(() -> tck.home().semaphore(name).tryAcquire(), "an attempt at a destroyed semaphore")
                .isInstanceOf(NoSuchSemaphoreException.class);
        assertThat(admin.destroy(name)).as("a second destroy found something").isFalse();
        assertThat(admin.create(name, 3)).as("create after destroy created it").isTrue();
        tck.assertFree(name, 3);
    }

    /**
     * A client may know from before how the semaphore was stored. Anew it passes through similar states, so each number of changes
     * is met with each that may have been remembered.
     */
    @Test
    @Rule({"8.12", "1.1"})
    void whatAClientKnowsOfADestroyedSemaphoreGrantsNothingAnew(TckFixture tck) {
        String name = tck.created(tck.uniqueName());
        SemaphoreAdmin admin = tck.home().admin();
        DistributedSemaphore former = tck.client().semaphore(name);
        DistributedSemaphore anew = tck.client().semaphore(name);
        for (int changes = 0; changes < tck.rounds(8, 4); changes++) {
            for (int limit : List.of(1, 2)) {
                admin.create(name, limit);
                // Of a limit of 2 that is one change more, so that states in which something is held are met too.
                admin.resize(name, 1);
                for (int i = 0; i < 2; i++) {
                    tck.take(former, 1).forEach(Permit::close);
                }
                admin.destroy(name);
                admin.create(name, 1);
                for (int i = 0; i < changes; i++) {
                    tck.take(anew, 1).forEach(Permit::close);
                }
                Permit held = tck.take(anew, 1).get(0);
                assertThat(former.tryAcquire())
                        .as(
                                "what a client is granted of the only slot, which is held, after destroy, create and %s releases",
                                changes)
                        .isEmpty();
                assertThat(held.verify()).as("the permit of the only slot").isEqualTo(Verification.HELD);
                held.close();
                admin.destroy(name);
            }
        }
    }

    @Test
    @Rule({"8.13", "16.2"})
    void theLastOfSeveralHoldersLeavesNothingOfADestroyedSemaphore(TckFixture tck) throws Exception {
        String name = tck.create(3);
        SemaphoreAdmin admin = tck.home().admin();
        List<Permit> held = new ArrayList<>(tck.take(tck.home().semaphore(name), 2));
        held.add(tck.take(tck.client().semaphore(name), 1).get(0));
        admin.destroy(name);
        while (!held.isEmpty()) {
            assertThat(held)
                    .as("permits of a destroyed semaphore while others of it are released")
                    .allMatch(permit -> permit.verify() == Verification.RETIRED);
            assertThat(admin.awaitReleased(name, Duration.ZERO))
                    .as("all holders are said to be gone while there are %s", held.size())
                    .isFalse();
            held.remove(tck.random().nextInt(held.size())).release();
        }
        assertThat(admin.awaitReleased(name, Duration.ZERO))
                .as("all holders are gone after the last release")
                .isTrue();
        assertThat(admin.create(name, 2))
                .as("a create with another limit after the last release")
                .isTrue();
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("8.13")
    void holdersKeepTheirSlotsOverADestroy(TckFixture tck) throws Exception {
        String name = tck.create(2);
        Permit held = tck.home().semaphore(name).acquire(tck.patience());
        SemaphoreAdmin admin = tck.client().admin();
        admin.destroy(name);
        assertThat(held.verify()).as("a permit whose semaphore was destroyed").isEqualTo(Verification.RETIRED);
        assertThat(admin.status(name)).as("the status of a destroyed semaphore").isEmpty();
        if (tck.has(Capability.LISTING)) {
            assertThat(admin.names())
                    .as("names while one holds a destroyed semaphore's slot")
                    .doesNotContain(name);
        }
        assertThat(admin.awaitReleased(name, Duration.ZERO))
                .as("all holders are said to be gone while one holds a destroyed semaphore's slot")
                .isFalse();
        Task<Boolean> waiter = tck.spawn("awaitReleased", () -> admin.awaitReleased(name, tck.patience()));
        waiter.awaitBlocked();
        held.release();
        assertThat(waiter.result()).as("all holders are gone after the release").isTrue();
    }

    @Test
    @Rule("8.14")
    void aDestroyEndsEveryWaiter(TckFixture tck) throws Exception {
        String name = tck.create(1);
        SemaphoreClient here = tck.client(Waiters.hinted(tck));
        Permit held = here.semaphore(name).acquire(tck.patience());
        DistributedSemaphore other = tck.client(Waiters.hinted(tck)).semaphore(name);
        List<Task<?>> waiters = List.of(
                tck.spawn("local waiter", () -> here.semaphore(name).acquire()),
                tck.spawn("remote waiter", () -> other.acquire()),
                tck.spawn("timed waiter", () -> other.tryAcquire(tck.patience().multipliedBy(2))));
        waiters.forEach(Task::awaitBlocked);
        CompletableFuture<Permit> future = other.acquireAsync();
        here.admin().destroy(name);
        Duration bound = tck.guarantees().wakeUpBound().plus(tck.guarantees().callBound());
        for (Task<?> waiter : waiters) {
            tck.await("a destroy ends every waiter", bound, waiter::isDone);
            waiter.failure(NoSuchSemaphoreException.class);
        }
        tck.await("a destroy ends every pending future", bound, future::isCompletedExceptionally);
        assertThatThrownBy(future::get, "the pending future").hasCauseInstanceOf(NoSuchSemaphoreException.class);
        held.close();
    }

    @Test
    @Rule("8.15")
    void aPermitFromBeforeTheDestroyDoesNotTouchTheNewSemaphore(TckFixture tck) throws Exception {
        String name = tck.create(2);
        Permit old = tck.home().semaphore(name).acquire(tck.patience());
        Duration validity = tck.validity(old.validUntil());
        SemaphoreClient other = tck.client();
        other.admin().destroy(name);
        other.admin().create(name, 2);
        Permit next = tck.take(other.semaphore(name), 1).get(0);
        assertThat(next.slot())
                .as("the slot that was still held was granted again")
                .isNotEqualTo(old.slot());
        assertThat(other.semaphore(name).tryAcquire())
                .as("both slots of the new semaphore were granted while one was held from before")
                .isEmpty();
        if (LongHolds.hasTimeForALease(tck)) {
            // What a destroy lets end a moment after a lease is not to end under a holder.
            Duration time = tck.scaled(tck.guarantees().detectionMax()).plus(LONGER);
            tck.proveHeld("a permit from before a destroy is held on", time, validity, old::isValid);
        }
        old.release();
        Optional<Permit> last = other.semaphore(name).tryAcquire();
        assertThat(last)
                .as("the slot that was held from before cannot be acquired after its release")
                .isPresent();
        old.close();
        assertThat(next.verify()).as("a permit of the new semaphore").isEqualTo(Verification.HELD);
        assertThat(last.orElseThrow().verify())
                .as("the permit in the old one's slot after a second release of the old one")
                .isEqualTo(Verification.HELD);
        last.orElseThrow().release();
        next.release();
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("8.16")
    void aNameTakenBySomethingForeignIsRefusedAndLeftUntouched(TckFixture tck) {
        // Twice, since what is stored there may be of different types.
        for (String name : List.of(tck.uniqueName("foreign"), tck.uniqueName("other"))) {
            refusedAndLeftUntouched(tck, name);
        }
    }

    private static void refusedAndLeftUntouched(TckFixture tck, String name) {
        StateProbe state = tck.state();
        state.occupy(name);
        try {
            String before = state.occupant(name);
            DistributedSemaphore semaphore = tck.home().semaphore(name);
            SemaphoreAdmin admin = tck.home().admin();
            Map<String, ThrowingCallable> uses = Map.of(
                    "create", () -> admin.create(name, 2),
                    "ensure", () -> admin.ensure(name, 2),
                    "resize", () -> admin.resize(name, 2),
                    "destroy", () -> admin.destroy(name),
                    "tryAcquire", semaphore::tryAcquire,
                    "acquire", () -> semaphore.acquire(tck.patience()));
            uses.forEach((use, call) -> assertThatThrownBy(call, "%s of a name that is taken by something foreign", use)
                    .isInstanceOf(IncompatibleStateException.class)
                    .hasMessageContaining(name));
            assertThat(state.occupant(name)).as("the foreign thing afterwards").isEqualTo(before);
        } catch (AssertionError e) {
            removeAfter(e, state, name);
            throw e;
        }
        state.remove(name);
    }

    /** What was removed already must not hide why the rule is broken. */
    private static void removeAfter(AssertionError failure, StateProbe state, String name) {
        try {
            state.remove(name);
        } catch (RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    @Test
    @Rule({"8.1", "8.5"})
    void ensuringALimitCreatesOrResizesAndTellsTheOneBefore(TckFixture tck) throws Exception {
        String name = tck.created(tck.uniqueName());
        SemaphoreAdmin admin = tck.home().admin();
        assertThat(admin.ensure(name, 2)).as("the limit before the creation").isEmpty();
        Permit held = tck.home().semaphore(name).acquire(tck.patience());
        assertThat(tck.client().admin().ensure(name, 2))
                .as("the same limit again")
                .hasValue(2);
        assertThat(admin.ensure(name, 3)).as("the limit before it grew").hasValue(2);
        assertThat(held.verify()).as("a permit when the limit grew").isEqualTo(Verification.HELD);
        held.release();
        tck.assertFree(name, 3);
    }
}
