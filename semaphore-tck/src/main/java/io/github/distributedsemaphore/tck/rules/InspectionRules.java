package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreListener;
import io.github.distributedsemaphore.SemaphoreStatistics;
import io.github.distributedsemaphore.SemaphoreStatus;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Section 9: what can be seen of a semaphore. */
@Section
public abstract class InspectionRules {
    /** Wall clocks are read in seconds by some, and servers have their own. */
    private static final Duration CLOCK_TOLERANCE = Duration.ofSeconds(2);

    /** For subclasses. */
    protected InspectionRules() {}

    @Test
    @Rule("9.1")
    void atRestTheCountsAndTheHoldersAreTrue(TckFixture tck) throws Exception {
        String name = tck.create(3);
        SemaphoreClient labelled = tck.client("night export");
        List<Permit> permits = List.of(
                tck.home().semaphore(name).acquire(tck.patience()),
                labelled.semaphore(name).acquire(tck.patience()));
        SemaphoreDescription description = tck.client().admin().describe(name).orElseThrow();
        assertThat(description.name()).as("the name that is described").isEqualTo(name);
        assertThat(description.limit()).as("the limit that is described").isEqualTo(3);
        assertThat(description.free()).as("free with two of three held").isEqualTo(1);
        assertThat(tck.home().semaphore(name).availablePermits())
                .as("free with two of three held")
                .isEqualTo(1);
        List<Holder> holders = description.holders();
        assertThat(holders)
                .as("the holders' slots")
                .extracting(Holder::slot)
                .doesNotHaveDuplicates()
                .containsExactlyInAnyOrderElementsOf(
                        permits.stream().map(Permit::slot).toList())
                .allMatch(slot -> slot >= 1 && slot <= 3);
        assertThat(holders).as("the holders").allMatch(holder -> holder.state() == HolderState.HELD);
        Holder second = holders.stream()
                .filter(holder -> holder.slot() == permits.get(1).slot())
                .findFirst()
                .orElseThrow();
        assertThat(second.label()).as("the label of a holder").isEqualTo("night export");
        assertThat(second.pid())
                .as("the process id of a holder")
                .isEqualTo(ProcessHandle.current().pid());
        if (tck.has(Capability.FENCING)) {
            assertThat(second.epoch())
                    .as("the epoch of a holder")
                    .isEqualTo(permits.get(1).fence().epoch());
        }
        permits.forEach(Permit::close);
        SemaphoreDescription after = tck.home().admin().describe(name).orElseThrow();
        assertThat(after.holders()).as("holders are shown after all released").isEmpty();
        assertThat(after.free()).as("free after all released").isEqualTo(3);
    }

    @Test
    @Rule("9.1")
    void whenAHolderTookItsSlotStaysWhatItWas(TckFixture tck) {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.client().semaphore(name);
        Instant before = Instant.now();
        Permit held = tck.take(semaphore, 1).get(0);
        Instant after = Instant.now();
        Optional<Instant> since = since(tck, name);
        assertThat(since)
                .as("since when a slot is held whose holder lives")
                .hasValueSatisfying(
                        told -> assertThat(told).isBetween(before.minus(CLOCK_TOLERANCE), after.plus(CLOCK_TOLERANCE)));
        if (tck.has(Capability.LEASE)) {
            tck.await(
                    "a renewal",
                    tck.guarantees().detectionMax().plus(tck.patience()),
                    () -> semaphore.statistics().renewals() > 0);
        }
        assertThat(since(tck, name))
                .as("since when a slot is held, after a renewal")
                .isEqualTo(since);
        held.close();
    }

    private static Optional<Instant> since(TckFixture tck, String name) {
        return Optional.ofNullable(
                tck.home().admin().describe(name).orElseThrow().holders().get(0).since());
    }

    @Test
    @Rule("9.1")
    void holdersAreListedInTheOrderOfTheirSlots(TckFixture tck) {
        String name = tck.create(6);
        List<DistributedSemaphore> views =
                List.of(tck.home().semaphore(name), tck.client().semaphore(name));
        List<Permit> held = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            held.addAll(tck.take(views.get(i % 2), 1));
        }
        assertThat(tck.client().admin().describe(name).orElseThrow().holders())
                .as("the slots of the holders, in the order in which they are listed")
                .extracting(Holder::slot)
                .containsExactly(1, 2, 3, 4, 5, 6);
        held.forEach(Permit::close);
    }

    @Test
    @Rule("9.1")
    void removedSlotsAreShownAsSuchAndTheCountStaysInRange(TckFixture tck) throws Exception {
        String name = tck.create(3);
        List<Permit> permits = tck.take(tck.home().semaphore(name), 3);
        tck.home().admin().resize(name, 2);
        SemaphoreDescription description = tck.client().admin().describe(name).orElseThrow();
        assertThat(description.free())
                .as("free with more holders than the limit")
                .isZero();
        assertThat(description.holders())
                .as("the states of the holders of slots 1 to 3 with a limit of 2")
                .extracting(Holder::state)
                .containsExactly(HolderState.HELD, HolderState.HELD, HolderState.RETIRED);
        permits.forEach(Permit::close);
    }

    @Test
    @Rule("9.1")
    void underLoadTheCountStaysFromZeroToTheLimit(TckFixture tck) throws Exception {
        String name = tck.create(2);
        AtomicBoolean over = new AtomicBoolean();
        List<Task<Void>> load = new ArrayList<>();
        for (SemaphoreClient client : List.of(tck.home(), tck.client())) {
            for (int i = 0; i < 2; i++) {
                load.add(tck.spawn("load", () -> {
                    while (!over.get()) {
                        client.semaphore(name).acquire(tck.patience()).release();
                    }
                    return null;
                }));
            }
        }
        SemaphoreClient looking = tck.client();
        for (int unused : tck.repeat(2_000, Duration.ofMillis(500))) {
            assertThat(looking.semaphore(name).availablePermits())
                    .as("free under load")
                    .isBetween(0, 2);
            SemaphoreDescription seen = looking.admin().describe(name).orElseThrow();
            assertThat(seen.free()).as("free under load, as described").isBetween(0, 2);
            assertThat(seen.holders()).as("holders under load").hasSizeLessThanOrEqualTo(2);
        }
        over.set(true);
        for (Task<Void> task : load) {
            task.result();
        }
        assertThat(looking.semaphore(name).availablePermits())
                .as("free after the load")
                .isEqualTo(2);
    }

    @Test
    @Rule("9.3")
    void lookingHasNoSideEffectAndDoesNotWait(TckFixture tck) throws Exception {
        String name = tck.create(2);
        String missing = tck.uniqueName("missing");
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        SemaphoreAdmin admin = tck.client().admin();
        List<Permit> held = tck.take(semaphore, 2);
        CompletableFuture<Permit> waiter = tck.client().semaphore(name).acquireAsync(tck.patience());
        for (int unused : tck.repeat(20, Duration.ofMillis(500))) {
            long since = System.nanoTime();
            assertThat(admin.describe(name).orElseThrow().free())
                    .as("free while all is held")
                    .isZero();
            assertThat(semaphore.availablePermits())
                    .as("free while all is held")
                    .isZero();
            assertThat(admin.describe(missing))
                    .as("looking for a semaphore created it")
                    .isEmpty();
            tck.assertWithin(Bound.OPERATION, tck.guarantees().callBound().multipliedBy(3), System.nanoTime() - since);
        }
        assertThat(waiter).as("looking let a waiter in").isNotDone();
        assertThat(held).as("looking took a permit from its holder").allMatch(Permit::isValid);
        held.get(0).release();
        Waiters.served(tck, waiter, "after many looks a release did not reach the waiter")
                .release();
        held.get(1).release();
        for (int unused : tck.repeat(20, Duration.ofMillis(300))) {
            assertThat(admin.describe(name).orElseThrow().free())
                    .as("looking took a permit")
                    .isEqualTo(2);
        }
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("9.5")
    void theSemaphoresAreListedOrListingIsRefused(TckFixture tck) {
        SemaphoreAdmin admin = tck.home().admin();
        String one = tck.create(tck.uniqueName("b"), 1);
        String other = tck.create(tck.uniqueName("a"), 1);
        if (!tck.has(Capability.LISTING)) {
            assertThatThrownBy(admin::names, "names() where LISTING is not declared")
                    .isInstanceOf(UnsupportedOperationException.class);
            return;
        }
        // More than an adapter or its backend is likely to list at a time.
        List<String> made = new ArrayList<>(List.of(one, other));
        for (int unused : tck.repeat(tck.rounds(1_200, 600), Duration.ofSeconds(3))) {
            made.add(tck.create(1));
        }
        assertThat(admin.names())
                .as("the names of the semaphores, among which %d are new", made.size())
                .containsAll(made)
                .isSorted();
        admin.destroy(one);
        assertThat(admin.names())
                .as("the names after one was destroyed")
                .doesNotContain(one)
                .contains(other);
    }

    @Test
    @Rule({"9.1", "9.3"})
    void theStatusShowsHowFullASemaphoreIs(TckFixture tck) throws Exception {
        String name = tck.create(3);
        Permit held = tck.home().semaphore(name).acquire(tck.patience());
        tck.home().ping(tck.patience());
        assertThat(tck.client().admin().status(name))
                .as("the status with one of three held")
                .contains(new SemaphoreStatus(name, 3, 2));
        assertThat(tck.home().admin().status(tck.uniqueName("missing")))
                .as("the status of a semaphore that is missing")
                .isEmpty();
        held.release();
        tck.assertFree(name, 3);
    }

    @Test
    @Rule("9.4")
    void eachCallIsCountedAsWhatItWas(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.client().semaphore(name);
        Permit held = tck.take(tck.home().semaphore(name), 1).get(0);
        int timed = 0;
        for (int unused : tck.repeat(tck.rounds(1_000, 100), Duration.ofSeconds(1))) {
            assertThat(semaphore.tryAcquire(Duration.ofNanos(1 + tck.random().nextInt(1_000_000))))
                    .isEmpty();
            timed++;
        }
        assertThat(semaphore.tryAcquire()).isEmpty();
        SemaphoreStatistics counted = semaphore.statistics();
        assertThat(counted.timedOut())
                .as("calls whose time was over, of %s", timed)
                .isEqualTo(timed);
        assertThat(counted.refused())
                .as("calls that did not wait and were refused")
                .isEqualTo(1);
        held.release();
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("9.4")
    void whatTheBackendGrantsIsCountedAsThat(TckFixture tck) {
        SemaphoreClient client = tck.client(ClientSpec.plain().with("handOffs", "0"));
        Map<String, AtomicInteger> told = new ConcurrentHashMap<>();
        client.addListener(counting(told, new ConcurrentLinkedQueue<>()));
        DistributedSemaphore semaphore = client.semaphore(tck.create(1));
        for (int i = 0; i < 5; i++) {
            tck.take(semaphore, 1).get(0).release();
        }
        SemaphoreStatistics counted = semaphore.statistics();
        assertThat(counted.grantedByBackend())
                .as("grants of the backend to a client that hands nothing on")
                .isEqualTo(5);
        assertThat(counted.grantedByHandOff())
                .as("grants by hand-off of a client that hands nothing on")
                .isZero();
        assertThat(told).as("events of a client that hands nothing on").doesNotContainKey("handed off");
    }

    @Test
    @Rule("9.4")
    void theNumberOfWaitersReturnsToZeroHoweverTheWaitingEnds(TckFixture tck) throws Exception {
        String name = tck.create(1);
        SemaphoreClient client = tck.client();
        Map<String, AtomicInteger> told = new ConcurrentHashMap<>();
        Queue<Long> held = new ConcurrentLinkedQueue<>();
        SemaphoreListener listener = counting(told, held);
        long begin = System.nanoTime();
        // Throws at each event, for nothing can be counted in its map. It must not keep the news from the other.
        client.addListener(counting(Map.of(), held));
        client.addListener(listener);
        DistributedSemaphore semaphore = client.semaphore(name);
        Permit first = semaphore.acquire(tck.patience());
        Task<Permit> interrupted = tck.spawn("waiter to be interrupted", () -> semaphore.acquire());
        Task<Permit> served = tck.spawn("waiter to be served", () -> semaphore.acquire(tck.patience()));
        CompletableFuture<Permit> cancelled = semaphore.acquireAsync();
        tck.await(
                "three calls are counted as waiting",
                () -> semaphore.statistics().waiting() == 3);
        CompletableFuture<Permit> late = semaphore.acquireAsync(Duration.ofMillis(500));
        tck.await(
                "a fourth call is counted as waiting, or its time is over",
                () -> semaphore.statistics().waiting() == 4 || late.isDone());
        tck.await("a future fails when its time is over", late::isDone);
        interrupted.interrupt();
        interrupted.failure(InterruptedException.class);
        cancelled.cancel(false);
        first.release();
        served.result().release();
        client.removeListener(listener);
        assertThat(held)
                .as("the times for which permits were held, as reported, in nanoseconds")
                .allMatch(nanos -> nanos > 0 && nanos <= System.nanoTime() - begin);
        assertThat(semaphore.tryAcquire()).hasValueSatisfying(Permit::close);
        SemaphoreStatistics end = semaphore.statistics();
        assertThat(end.waiting())
                .as("waiters that are counted when none is left")
                .isZero();
        assertThat(end.held()).as("permits that are counted when none is held").isZero();
        assertThat(end.timedOut()).as("calls whose time was over").isEqualTo(1);
        assertThat(end.withdrawn())
                .as("calls that were interrupted or cancelled")
                .isEqualTo(2);
        assertThat(end.grantedByBackend() + end.grantedByHandOff())
                .as("permits that were granted")
                .isEqualTo(3)
                .isEqualTo(end.released());
        assertThat(told.get("timed out")).as("time-outs that were reported").hasValue(1);
        assertThat(told.get("acquired")).as("grants while there was a listener").hasValue(2);
        assertThat(told.get("released"))
                .as("releases while there was a listener")
                .hasValue(2);
        tck.assertFree(name, 1);
    }

    private static SemaphoreListener counting(Map<String, AtomicInteger> told, Queue<Long> held) {
        return new SemaphoreListener() {
            @Override
            public void onAcquired(String semaphoreName, int slot, long waitedNanos, boolean handedOff) {
                count("acquired");
                if (handedOff) {
                    count("handed off");
                }
            }

            @Override
            public void onReleased(String semaphoreName, int slot, long heldNanos) {
                count("released");
                held.add(heldNanos);
            }

            @Override
            public void onTimedOut(String semaphoreName, long waitedNanos) {
                count("timed out");
            }

            private void count(String event) {
                told.computeIfAbsent(event, key -> new AtomicInteger()).incrementAndGet();
            }
        };
    }
}
