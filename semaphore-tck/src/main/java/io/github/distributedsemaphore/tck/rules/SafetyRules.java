package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Occupancy;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.text.Normalizer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Section 1, never more than the limit, and rules of section 8 about a client whose knowledge is old. */
@Section
public abstract class SafetyRules {
    private static final Duration BUDGET = Duration.ofMillis(1_500);

    /** A moment, and longer than clients keep what they watch while they are idle. */
    private static final List<Integer> IDLE_MILLIS = List.of(20, 700, 5_000);

    private static final int A_MOMENT_MILLIS = 20;

    /** For subclasses. */
    protected SafetyRules() {}

    @Test
    @Rule("1.1")
    void exactlyTheLimitIsGrantedAndTheNextTryChangesNothing(TckFixture tck) {
        DistributedSemaphore semaphore = tck.semaphore(3);
        DistributedSemaphore other = tck.client().semaphore(semaphore.name());
        List<Permit> permits = tck.take(semaphore, 3);
        assertThat(permits.stream().map(Permit::slot))
                .as("the slots of three permits of a limit of 3")
                .containsExactlyInAnyOrder(1, 2, 3);
        assertThat(semaphore.tryAcquire())
                .as("a permit beyond the limit of 3 was granted")
                .isEmpty();
        assertThat(other.tryAcquire())
                .as("another client was granted a permit beyond the limit of 3")
                .isEmpty();
        permits.get(1).release();
        Optional<Permit> next = other.tryAcquire();
        assertThat(next)
                .as("after a refused try, a released permit cannot be acquired")
                .isPresent();
        assertThat(other.tryAcquire())
                .as("one release made room for two permits")
                .isEmpty();
        permits.forEach(Permit::close);
        next.orElseThrow().release();
        tck.assertFree(semaphore.name(), 3);
    }

    @Test
    @Rule("1.2")
    void neverMoreThanTheLimitHoldAtOneInstant(TckFixture tck) throws Exception {
        String name = tck.create(3);
        Occupancy occupancy = new Occupancy(3);
        List<Task<Void>> contenders = new ArrayList<>();
        for (SemaphoreClient client : List.of(tck.home(), tck.client(), tck.client())) {
            for (int i = 0; i < 4; i++) {
                contenders.add(tck.spawn("contender", () -> {
                    for (int unused : tck.repeat(2_000, BUDGET)) {
                        Permit permit = client.semaphore(name).acquire(tck.patience());
                        occupancy.visit(permit);
                        permit.release();
                    }
                    return null;
                }));
            }
        }
        occupancy.assertNeverExceededBy(contenders);
        tck.assertFree(name, 3);
    }

    /** What a client knew before it was idle is old, also where it has stopped to listen. */
    @Test
    @Rule({"1.1", "8.6"})
    void aSlotThatWasRemovedWhileAClientWasIdleIsNotGranted(TckFixture tck) {
        SemaphoreClient client = tck.client(Waiters.hinted(tck));
        SemaphoreClient holder = tck.client(Waiters.hinted(tck));
        Map<String, List<Permit>> others = new LinkedHashMap<>();
        for (int unused : IDLE_MILLIS) {
            String name = tck.create(2);
            List<Permit> both = tck.take(holder.semaphore(name), 2);
            both.stream().filter(permit -> permit.slot() == 2).forEach(Permit::release);
            tck.take(client.semaphore(name), 1).get(0).release();
            others.put(name, both);
        }
        long since = System.nanoTime();
        Iterator<Integer> idle = IDLE_MILLIS.iterator();
        others.forEach((name, held) -> {
            int millis = idle.next();
            Pause.millis(Math.max(0, millis - (System.nanoTime() - since) / 1_000_000));
            tck.home().admin().resize(name, 1);
            Optional<Permit> granted = client.semaphore(name).tryAcquire();
            if (held.stream().noneMatch(Permit::isValid)) {
                tck.abortIfStoodStill(tck.guarantees().detectionMax().dividedBy(4), since);
            }
            assertThat(granted)
                    .as("of a client that was idle for %s ms, while the only slot that is left is held", millis)
                    .isEmpty();
            held.forEach(Permit::close);
            tck.assertFree(name, 1);
        });
    }

    /** A client may go by what it has just heard of a semaphore, but not when it refuses a call for good. */
    @Test
    @Rule({"8.5", "8.12"})
    void noCallIsRefusedForWhatWasTrueBeforeAChange(TckFixture tck) throws Exception {
        SemaphoreClient client = tck.client();
        SemaphoreAdmin admin = tck.home().admin();
        for (int unused : tck.repeat(100, BUDGET)) {
            String name = tck.create(2);
            DistributedSemaphore semaphore = client.semaphore(name);
            Permit held = tck.take(semaphore, 1).get(0);
            admin.resize(name, 4);
            semaphore.acquire(3, tck.patience()).close();
            admin.destroy(name);
            Pause.millis(A_MOMENT_MILLIS);
            admin.create(name, 2);
            assertThatCode(() -> semaphore.tryAcquire().ifPresent(Permit::close))
                    .as("a try at a semaphore that has just been created again")
                    .doesNotThrowAnyException();
            held.release();
        }
    }

    @Test
    @Rule("1.4")
    void anUnprotectedCounterUnderOnePermitLosesNoUpdate(TckFixture tck) throws Exception {
        String name = tck.create(1);
        long[] counter = new long[1];
        AtomicInteger rounds = new AtomicInteger();
        List<Task<Void>> writers = new ArrayList<>();
        for (SemaphoreClient client : List.of(tck.home(), tck.client())) {
            for (int i = 0; i < 4; i++) {
                writers.add(tck.spawn("writer", () -> {
                    for (int unused : tck.repeat(2_000, BUDGET)) {
                        try (Permit permit = client.semaphore(name).acquire(tck.patience())) {
                            assertThat(permit.slot()).as("the only slot").isEqualTo(1);
                            long read = counter[0];
                            LockSupport.parkNanos(100_000); // so long that another, if there is one, gets between
                            counter[0] = read + 1;
                        }
                        rounds.incrementAndGet();
                    }
                    return null;
                }));
            }
        }
        for (Task<Void> writer : writers) {
            writer.result();
        }
        assertThat(counter[0])
                .as("a counter that each holder of the only permit raises by one")
                .isEqualTo(rounds.get());
    }

    @Test
    @Rule("1.5")
    void severalPermitsAreTakenTogetherOrNotAtAll(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = tck.semaphore(3);
        DistributedSemaphore other = tck.client().semaphore(semaphore.name());
        List<Permit> held = tck.take(other, 2);
        assertThat(semaphore.tryAcquire(2))
                .as("two permits were granted where one was free")
                .isEmpty();
        assertThat(other.availablePermits())
                .as("free after a refused try for two")
                .isEqualTo(1);
        Task<PermitGroup> large = tck.spawn("acquire(3)", () -> semaphore.acquire(3, tck.patience()));
        large.awaitBlocked();
        List<Permit> third = tck.take(other, 1); // a waiting group must not sit on a part
        third.get(0).release();
        held.forEach(Permit::close);
        PermitGroup group = large.result();
        assertThat(group.permits())
                .as("permits of acquire(3)")
                .extracting(Permit::slot)
                .containsExactly(1, 2, 3);
        assertThat(other.tryAcquire())
                .as("a permit beside a group of all three")
                .isEmpty();
        group.close();
        tck.assertFree(semaphore.name(), 3);
    }

    @Test
    @Rule("1.5")
    void randomMixesOfSizesKeepTheLimitAndDoNotDeadlock(TckFixture tck) throws Exception {
        String name = tck.create(4);
        Occupancy occupancy = new Occupancy(4);
        List<Task<Void>> contenders = new ArrayList<>();
        for (SemaphoreClient client : List.of(tck.home(), tck.client())) {
            for (int i = 0; i < 3; i++) {
                Random random = new Random(tck.random().nextLong());
                contenders.add(tck.spawn("contender for several", () -> {
                    for (int unused : tck.repeat(1_000, BUDGET)) {
                        int count = 1 + random.nextInt(4);
                        PermitGroup group = client.semaphore(name).acquire(count, tck.patience());
                        assertThat(group.permits())
                                .as("permits of a group of " + count)
                                .hasSize(count);
                        group.permits().forEach(occupancy::enter);
                        Occupancy.letOthersIn();
                        group.permits().forEach(occupancy::leave);
                        group.release();
                    }
                    return null;
                }));
            }
        }
        occupancy.assertNeverExceededBy(contenders);
        tck.assertFree(name, 4);
    }

    @Test
    @Rule("1.6")
    void aSecondAcquireByTheSameThreadTakesASecondPermit(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = tck.semaphore(2);
        Permit first = semaphore.acquire(tck.patience());
        Permit second = semaphore.acquire(tck.patience());
        assertThat(second.slot()).as("the slot of a thread's second permit").isNotEqualTo(first.slot());
        assertThat(semaphore.tryAcquire())
                .as("the thread that holds both permits was granted a third: permits are not reentrant")
                .isEmpty();
        first.release();
        assertThat(second.verify())
                .as("the second permit after the release of the first")
                .isEqualTo(Verification.HELD);
        second.release();
        tck.assertFree(semaphore.name(), 2);
    }

    @Test
    @Rule("1.8")
    void whoGaveUpNeverHoldsAPermitLater(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        List<Permit> holder = tck.take(tck.client().semaphore(name), 1);
        List<Task<Permit>> interrupted = new ArrayList<>();
        List<CompletableFuture<Permit>> cancelled = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            interrupted.add(Waiters.blocked(tck, "to be interrupted", semaphore));
            cancelled.add(semaphore.acquireAsync());
        }
        Task<Permit> late = tck.spawn("to time out", () -> semaphore.acquire(Duration.ofMillis(30)));
        late.failure(SemaphoreTimeoutException.class);
        interrupted.forEach(Task::interrupt);
        cancelled.forEach(future -> future.cancel(true));
        for (Task<Permit> task : interrupted) {
            task.failure(InterruptedException.class);
        }
        holder.get(0).release();
        tck.await(
                "a permit that is released when everybody gave up waiting for it is free",
                tck.guarantees().wakeUpBound(),
                () -> tck.home().admin().describe(name).orElseThrow().free() == 1);
        tck.proveNothing(
                "a permit that is released when everybody gave up waiting for it stays free",
                () -> tck.home().admin().describe(name).orElseThrow().free() == 1);
        tck.assertFree(name, 1);
    }

    @Test
    @Rule({"1.9", "5.1"})
    void aPermitIsValidAtTheInstantItIsReported(TckFixture tck) throws Exception {
        String name = tck.create(1);
        SemaphoreClient waiting = tck.client();
        for (int unused : tck.repeat(500, BUDGET)) {
            Permit held = tck.home().semaphore(name).acquire(tck.patience());
            CompletableFuture<Permit> next = waiting.semaphore(name).acquireAsync(tck.patience());
            held.release();
            Permit permit = next.get();
            assertThat(permit.isValid())
                    .as("a permit that was just granted is valid")
                    .isTrue();
            assertThat(permit.verify())
                    .as("a permit that was just granted is held")
                    .isEqualTo(Verification.HELD);
            permit.release();
        }
    }

    @Test
    @Rule("1.11")
    void differentNamesNeverSharePermits(TckFixture tck) {
        String base = tck.uniqueName("Name");
        List<String> names = List.of(
                base,
                base.toLowerCase(java.util.Locale.ROOT) + "x",
                base.toUpperCase(java.util.Locale.ROOT) + "x",
                base + "x",
                base + " ",
                base + ".",
                base + "/1",
                base + ":1",
                base + "-1",
                base + "1",
                base + "%31",
                base + Normalizer.normalize("\u00e9", Normalizer.Form.NFC),
                base + Normalizer.normalize("\u00e9", Normalizer.Form.NFD));
        List<Permit> permits = new ArrayList<>();
        for (String name : names) {
            tck.create(name, 1);
            Optional<Permit> permit = tck.home().semaphore(name).tryAcquire();
            assertThat(permit)
                    .as("'%s' shares its permit with another of %s", name, names)
                    .isPresent();
            permits.add(permit.orElseThrow());
        }
        for (String name : names) {
            assertThat(tck.home().semaphore(name).tryAcquire())
                    .as("a second permit of '%s'", name)
                    .isEmpty();
        }
        permits.forEach(Permit::close);
    }
}
