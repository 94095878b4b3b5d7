package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.agent.AgentPermits;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.history.Sometimes;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** What becomes of the permits of dead processes: rules of sections 2, 8, 9 and 16 that kill processes. */
@Section
public abstract class CrashRules {
    private static final Duration BUDGET = Duration.ofSeconds(8);

    /** How often a waiter asks by itself: so seldom that a second look, which comes as late, shows. */
    private static final Duration SELDOM = Duration.ofSeconds(4);

    private static final int QUEUES = 16;

    /** For subclasses. */
    protected CrashRules() {}

    @Test
    @Rule("2.2")
    void theSlotOfAKilledProcessIsTakenWithinTheDetectionTimes(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Agent agent = tck.agent();
        AgentPermits held = agent.take(name);
        SemaphoreClient waiting = tck.client();
        CompletableFuture<Permit> waiter = waiting.semaphore(name).acquireAsync();
        long kill = System.nanoTime();
        agent.kill9();
        long dead = System.nanoTime();
        tck.reached(Sometimes.KILLED_HOLDING);
        if (!tck.has(Capability.CRASH_RELEASE)) {
            assertStaysTaken(tck, waiting.semaphore(name), waiter);
            return;
        }
        tck.await(
                "the slot of a killed process is free within "
                        + tck.guarantees().detectionMax(),
                tck.guarantees().detectionMax(),
                waiter::isDone);
        long granted = System.nanoTime();
        Permit permit = waiter.get();
        tck.reached(Sometimes.SERVED_BY_A_CRASH);
        tck.assertWithin(Bound.DETECTION, tck.guarantees().detectionMax(), dead, granted);
        assertThat(Duration.ofNanos(granted - kill))
                .as(
                        "time from the kill to the next grant, at least %s",
                        tck.guarantees().detectionMin())
                .isGreaterThanOrEqualTo(tck.guarantees().detectionMin());
        // Where a cut may let two hold, as where a connection is the hold, the slot of the dead is free at once.
        boolean leased = tck.has(Capability.LEASE)
                && !tck.guarantees().exposure(Fault.LINK_CUT).allowsOverlap();
        assertThat(leased && granted < held.validUntil())
                .as("whether the grant comes before the end of the validity")
                .isFalse();
        permit.release();
    }

    private static void assertStaysTaken(
            TckFixture tck, DistributedSemaphore semaphore, CompletableFuture<Permit> waiter) {
        Duration watch = tck.scaled(tck.guarantees().detectionMax()).plus(tck.quiet());
        tck.proveNothing("the slot stays taken, as CRASH_RELEASE is not declared", watch, () -> !waiter.isDone());
        assertThat(waiter.cancel(true)).isTrue();
        assertThat(semaphore.tryAcquire())
                .as("an attempt for the slot of a killed process, without CRASH_RELEASE")
                .isEmpty();
    }

    @Test
    @Rule("2.2")
    void theSlotOfAnAbortedClientIsTakenWithinTheDetectionTimes(TckFixture tck) throws Exception {
        String name = tck.create(1);
        SemaphoreClient aborting = tck.client();
        tck.take(aborting.semaphore(name), 1);
        CompletableFuture<Permit> waiter = tck.home().semaphore(name).acquireAsync();
        long begun = System.nanoTime();
        aborting.abort();
        long dead = System.nanoTime();
        if (!tck.has(Capability.CRASH_RELEASE)) {
            assertStaysTaken(tck, tck.home().semaphore(name), waiter);
            return;
        }
        tck.await(
                "the slot of an aborted client is free within "
                        + tck.guarantees().detectionMax(),
                tck.guarantees().detectionMax(),
                waiter::isDone);
        long granted = System.nanoTime();
        tck.assertWithin(Bound.DETECTION, tck.guarantees().detectionMax(), granted - dead);
        assertThat(Duration.ofNanos(granted - begun))
                .as(
                        "time from the abort, which says nothing to the backend, to the next grant, at least %s",
                        tck.guarantees().detectionMin())
                .isGreaterThanOrEqualTo(tck.guarantees().detectionMin());
        waiter.get().release();
        tck.assertFree(name, 1);
    }

    /** A client that holds nothing and does not wait is not renewed, so it may seem to be dead for longer than the one that died. */
    @Test
    @Rule("2.2")
    void whoOnlyTriesGetsTheSlotOfAKilledProcess(TckFixture tck) {
        requireCrashRelease(tck);
        String name = tck.create(1);
        DistributedSemaphore trying = tck.client().semaphore(name);
        Agent agent = tck.agent();
        agent.release(agent.take(name));
        tck.take(trying, 1).get(0).release();
        agent.take(name);
        // Time for a renewal.
        Pause.millis(tck.guarantees().detectionMax().dividedBy(3).toMillis());
        agent.kill9();
        tck.await(
                "a client that tries again and again gets the slot of a killed process within the detection time",
                tck.guarantees().detectionMax().plus(tck.guarantees().callBound()),
                () -> isGranted(trying));
        tck.assertFree(name, 1);
    }

    private static boolean isGranted(DistributedSemaphore semaphore) {
        Optional<Permit> permit = semaphore.tryAcquire();
        permit.ifPresent(Permit::release);
        return permit.isPresent();
    }

    @Test
    @Rule("2.10")
    void aPermitSurvivesCrashAfterCrash(TckFixture tck) throws Exception {
        requireCrashRelease(tck);
        String name = tck.create(1);
        for (int unused : tck.repeat(50, BUDGET)) {
            Agent agent = tck.agent();
            Duration patience = tck.scaled(tck.guarantees().detectionMax()).plus(tck.patience());
            assertThat(agent.acquire(name, 1, patience))
                    .as("the permit that the previous crash returned")
                    .isPresent();
            agent.kill9();
        }
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Optional<Permit> permit = semaphore.tryAcquire(tck.patience().plus(detection(tck)));
        assertThat(permit).as("the permit that the previous crash returned").isPresent();
        assertThat(semaphore.tryAcquire())
                .as("a second permit of a limit of 1, after the crashes")
                .isEmpty();
        permit.orElseThrow().release();
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("9.2")
    void killedHoldersNoLongerCountWithinTheDetectionTime(TckFixture tck) {
        requireCrashRelease(tck);
        String name = tck.create(3);
        Agent agent = tck.agent();
        agent.take(name);
        agent.take(name);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        assertThat(semaphore.availablePermits()).as("free while two are held").isEqualTo(1);
        agent.kill9();
        tck.await(
                "all permits count as free within the detection time of their holder's death",
                tck.guarantees().detectionMax().plus(tck.guarantees().callBound()),
                () -> semaphore.availablePermits() == 3);
        tck.assertFree(name, 3);
    }

    @Test
    @Rule("8.10")
    void anAdministratorThatDiesHalfWayHarmsNothing(TckFixture tck) {
        String name = tck.create(2);
        for (int round : tck.repeat(20, BUDGET)) {
            Agent agent = tck.agent();
            CompletableFuture<?> resizing = agent.resizeForEver(name, 1, 4);
            Pause.millis(20 + tck.random().nextInt(60));
            assertThat(resizing)
                    .as("the resizing of round %d is under way", round)
                    .isNotDone();
            agent.kill9();
            int limit = 1 + tck.random().nextInt(4);
            untilAvailable(tck, () -> tck.home().admin().resize(name, limit));
            assertThat(tck.home().admin().describe(name).orElseThrow().limit())
                    .as("the limit that the next administrator set")
                    .isEqualTo(limit);
            tck.assertFree(name, limit);
        }
    }

    @Test
    @Rule("16.4")
    void whatAKilledClientLeftIsGoneInTime(TckFixture tck) {
        requireCrashRelease(tck);
        Leftovers before = tck.harness().leftovers();
        String name = tck.create(2);
        Agent agent = tck.agent();
        agent.take(name);
        CompletableFuture<?> waiting = agent.acquiring(name, 2, tck.patience());
        Pause.millis(tck.quiet().toMillis());
        assertThat(waiting).isNotDone();
        agent.kill9();
        tck.reached(Sometimes.KILLED_WAITING);
        tck.home().admin().destroy(name);
        tck.await(
                "what a killed client left at the backend is gone",
                tck.guarantees().detectionMax().plus(tck.patience()),
                () -> before.things().containsAll(tck.harness().leftovers().things()));
    }

    /** The semaphore stays, and is in use: what is kept for dead clients shows in what is stored of it. */
    @Test
    @Rule("16.4")
    void whatDeadWaitersLeftIsGoneAlthoughTheSemaphoreStays(TckFixture tck) throws Exception {
        requireCrashRelease(tck);
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Permit held = tck.take(semaphore, 1).get(0);
        Leftovers before = afterDeadWaiters(tck, semaphore, 1, Optional.empty());
        Leftovers after = afterDeadWaiters(tck, semaphore, 5, Optional.of(before));
        if (!after.grownSince(before).isEmpty()) {
            // The first burial may leave something for good, such as a counter.
            before = after;
            after = afterDeadWaiters(tck, semaphore, 5, Optional.of(before));
        }
        assertThat(after.grownSince(before))
                .as("what has grown at the backend by waiters that died")
                .isEmpty();
        held.release();
        tck.assertFree(name, 1);
    }

    private static Leftovers afterDeadWaiters(
            TckFixture tck, DistributedSemaphore semaphore, int waiters, Optional<Leftovers> before)
            throws InterruptedException {
        for (int i = 0; i < waiters; i++) {
            SemaphoreClient dying = tck.client();
            CompletableFuture<Permit> waiting =
                    dying.semaphore(semaphore.name()).acquireAsync();
            tck.proveNothing("the waiter waits", () -> !waiting.isDone());
            dying.abort();
        }
        long end = System.nanoTime()
                + tck.scaled(tck.guarantees().detectionMax()).plus(tck.quiet()).toNanos();
        Leftovers found = tck.harness().leftovers();
        while (System.nanoTime() - end < 0 && !isAsBefore(found, before)) {
            // What is in use is cleared up by those that use it.
            assertThat(semaphore.tryAcquire(Duration.ofMillis(20)))
                    .as("a second permit of a limit of 1")
                    .isEmpty();
            found = afterTheAttempt(tck, before);
        }
        return found;
    }

    private static boolean isAsBefore(Leftovers found, Optional<Leftovers> before) {
        return before.isPresent() && found.grownSince(before.get()).isEmpty();
    }

    /** What an attempt leaves in the backend's queue goes in the background, later on a busy machine. */
    private static Leftovers afterTheAttempt(TckFixture tck, Optional<Leftovers> before) {
        long end = System.nanoTime() + tck.quiet().toNanos();
        Leftovers found = tck.harness().leftovers();
        while (before.isPresent() && System.nanoTime() - end < 0 && !isAsBefore(found, before)) {
            found = tck.harness().leftovers();
        }
        return found;
    }

    /** What is told to the first in the queue is told to nobody if that one is dead. */
    @Test
    @Rule({"2.1", "16.4"})
    void whoWaitsBehindADeadWaiterIsServed(TckFixture tck) throws Exception {
        requireCrashRelease(tck);
        String name = tck.create(1);
        Permit held = tck.take(tck.home().semaphore(name), 1).get(0);
        SemaphoreClient dying = tck.client();
        CompletableFuture<Permit> first = dying.semaphore(name).acquireAsync();
        tck.proveNothing("the first waiter waits", () -> !first.isDone());
        DistributedSemaphore semaphore =
                tck.client(ClientSpec.plain().with("recheck", "1m")).semaphore(name);
        Task<Permit> waiter = tck.spawn("waiter behind a dead one", () -> semaphore.acquire(Duration.ofHours(1)));
        waiter.awaitBlocked();
        Pause.millis(tck.quiet().toMillis());
        dying.abort();
        held.release();
        tck.await(
                "who waits behind a waiter that died is served when that is noticed",
                tck.guarantees().detectionMax().plus(tck.guarantees().wakeUpBound()),
                waiter::isDone);
        waiter.result().release();
        tck.assertFree(name, 1);
    }

    /** Long before the death is noticed, those behind a dead waiter ask by themselves, and leave a free slot to it for a moment only. */
    @Test
    @Rule({"2.1", "16.4"})
    void aDeadWaiterHoldsUpThoseBehindItForAMoment(TckFixture tck) {
        requireCrashRelease(tck);
        SemaphoreClient here = tck.client(Waiters.hinted(tck));
        SemaphoreClient dying = tck.client(Waiters.hinted(tck));
        SemaphoreClient behind = tck.client(Waiters.hinted(tck).with("recheck", SELDOM.toSeconds() + "s"));
        List<String> names = Stream.generate(() -> tck.create(1)).limit(QUEUES).toList();
        List<Permit> held = names.stream()
                .map(name -> tck.take(here.semaphore(name), 1).get(0))
                .toList();
        List<CompletableFuture<Permit>> first = waiting(dying, names);
        tck.proveNothing("the first waiters wait", () -> first.stream().noneMatch(CompletableFuture::isDone));
        List<CompletableFuture<Permit>> waiters = waiting(behind, names);
        Pause.millis(tck.quiet().toMillis());
        dying.abort();
        held.forEach(Permit::release);
        tck.await(
                "those behind dead waiters are served when they ask by themselves, every " + SELDOM,
                SELDOM.plus(tck.guarantees().wakeUpBound()),
                () -> waiters.stream().allMatch(CompletableFuture::isDone));
        waiters.forEach(waiter -> waiter.join().release());
        names.forEach(name -> tck.assertFree(name, 1));
    }

    private static List<CompletableFuture<Permit>> waiting(SemaphoreClient client, List<String> names) {
        return names.stream().map(name -> client.semaphore(name).acquireAsync()).toList();
    }

    /** A backend may be busy with the request of a dead client until it notices the death. */
    private static void untilAvailable(TckFixture tck, Runnable call) {
        tck.await(
                "the backend works again after an administrator died",
                tck.guarantees().detectionMax().plus(tck.patience()),
                () -> {
                    try {
                        call.run();
                        return true;
                    } catch (BackendUnavailableException e) {
                        return false;
                    }
                });
    }

    private static void requireCrashRelease(TckFixture tck) {
        if (!tck.has(Capability.CRASH_RELEASE)) {
            throw new TestAbortedException("CRASH_RELEASE is not declared, which 2.2 shows");
        }
    }

    private static Duration detection(TckFixture tck) {
        return tck.scaled(tck.guarantees().detectionMax());
    }
}
