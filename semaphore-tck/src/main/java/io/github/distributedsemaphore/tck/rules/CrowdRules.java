package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Rules of several sections about many at once: calls, clients, slots and tasks that block. */
@Section
public abstract class CrowdRules {
    /** More than the engine puts into one request, a few times over. */
    private static final int ATTEMPTS = 300;

    /** As many as fit into one request beside attempts. */
    private static final int WAITERS = 64;

    /** More than any bounded pool of threads is likely to have. */
    private static final int TASKS = 40;

    /** A quick run sits out a lease only if it is no longer. */
    private static final Duration SHORT_LEASE = Duration.ofMillis(2_500);

    /** More than any backend looks at together at the front of a queue, which is 16. */
    private static final int CLIENTS = 20;

    /** Within which a client that has begun to wait is in the queue. */
    private static final Duration ARRIVAL = Duration.ofMillis(20);

    private static final int LIMIT = 3;

    /** So many wait in a line that to leave each of them a turn takes longer than a wake-up. */
    private static final int LINE = 14;

    private static final int LENGTHS = 128;

    private static final Duration LENGTHS_BUDGET = Duration.ofSeconds(2);

    /** So long do resizes meet groups. */
    private static final Duration RESIZES = Duration.ofMillis(1_500);

    /** More than fit into one request of any protocol, and no multiple of what does. */
    private static final int SLOTS = 300;

    /** The first and the last slots of what adapters look at or count together. */
    private static final List<Integer> BORDERS = List.of(1, 64, 65, 128, 129, 256, 257, SLOTS);

    /** For subclasses. */
    protected CrowdRules() {}

    /** More than fit into one request. All of them wait behind one that is under way, where the harness can hold up its answer. */
    @Test
    @Rule({"3.1", "3.3"})
    void eachOfManyAttemptsAtOnceIsAnswered(TckFixture tck) {
        String name = tck.create(1);
        Permit held = tck.take(tck.home().semaphore(name), 1).get(0);
        Optional<Route> route = tck.harness().link().map(tck::route);
        SemaphoreClient client = route.map(Route::client).orElseGet(tck::client);
        DistributedSemaphore semaphore = client.semaphore(name);
        assertThat(semaphore.tryAcquire()).as("a second permit of one").isEmpty();
        Optional<LinkFault> stall = route.map(way -> way.proxy().stall(Direction.ANSWERS));
        List<CompletableFuture<Permit>> attempts = new ArrayList<>();
        List<CompletableFuture<Permit>> waiters = new ArrayList<>();
        for (int i = 0; i < ATTEMPTS; i++) {
            attempts.add(semaphore.acquireAsync(Duration.ZERO));
            if (i < WAITERS) {
                waiters.add(semaphore.acquireAsync());
            }
        }
        stall.ifPresent(fault -> endWhenItStruck(tck, fault));
        assertRefused(tck, attempts);
        assertThat(waiters).as("calls that wait beside attempts").noneMatch(CompletableFuture::isDone);
        waiters.forEach(waiter -> waiter.cancel(true));
        held.release();
        tck.assertFree(name, 1);
    }

    private static void endWhenItStruck(TckFixture tck, LinkFault stall) {
        tck.await("an answer is held up", () -> stall.strikes() > 0);
        stall.close();
    }

    private static void assertRefused(TckFixture tck, List<CompletableFuture<Permit>> attempts) {
        tck.await(
                "each of " + attempts.size() + " attempts at once is answered",
                tck.guarantees().callBound(),
                () -> attempts.stream().allMatch(CompletableFuture::isDone));
        for (CompletableFuture<Permit> attempt : attempts) {
            assertThatThrownBy(attempt::get, "one of many attempts where nothing is free")
                    .hasCauseInstanceOf(SemaphoreTimeoutException.class);
        }
    }

    /** A backend may store what waits at the one name among what belongs to the other. */
    @Test
    @Rule({"2.13", "1.11"})
    void clientsThatWaitAtANameBelowHoldUpNobody(TckFixture tck) throws Exception {
        String above = tck.create(1);
        List<String> names = tck.createAllowed(Stream.of("/below", ":below").map(above::concat));
        assumeFalse(names.isEmpty(), "the backend refuses names with a separator");
        List<SemaphoreClient> crowd = Stream.generate(tck::client).limit(LINE).toList();
        for (String below : names) {
            Permit held = tck.take(tck.home().semaphore(below), 1).get(0);
            List<CompletableFuture<Permit>> waiting = crowd.stream()
                    .map(client -> client.semaphore(below).acquireAsync())
                    .toList();
            tck.proveNothing("all wait at " + below, () -> waiting.stream().noneMatch(CompletableFuture::isDone));
            // It is connected, and meets this name for the first time.
            SemaphoreClient client = tck.client();
            tck.take(client.semaphore(tck.create(1)), 1).get(0).release();
            Waiters.soon(
                            tck,
                            client.semaphore(above),
                            "clients that wait at '" + below + "' hold up one at '" + above + "'")
                    .release();
            waiting.forEach(future -> future.cancel(true));
            held.release();
            tck.assertFree(below, 1);
        }
        tck.assertFree(above, 1);
    }

    /** Requests of any length are written and read alike. In random order, because some backends have time for a few only. */
    @Test
    @Rule("12.1")
    void namesOfAnyLengthWork(TckFixture tck) {
        int most =
                tck.guarantees().maxNameBytes() - tck.uniqueName("x".repeat(10)).length();
        List<Integer> lengths = new ArrayList<>(
                IntStream.range(0, Math.min(LENGTHS, most)).boxed().toList());
        Collections.shuffle(lengths, tck.random());
        for (int round : tck.repeat(lengths.size(), LENGTHS_BUDGET)) {
            String name = tck.create(tck.uniqueName("x".repeat(lengths.get(round))), 2);
            List<Permit> permits = tck.take(tck.home().semaphore(name), 2);
            assertThat(tck.home().admin().describe(name).orElseThrow().holders())
                    .as("holders of '%s'", name)
                    .hasSize(2);
            for (Permit permit : permits) {
                assertThat(permit.verify()).as("a permit of '%s'", name).isEqualTo(Verification.HELD);
                assertThat(permit.release()).as("release of '%s'", name).isEqualTo(ReleaseOutcome.RELEASED);
            }
        }
    }

    /** What is chained to a future runs on threads that nothing else depends on, so these may not be too few. */
    @Test
    @Rule({"10.4", "2.13"})
    void continuationsThatBlockDelayNothingHoweverManyThereAre(TckFixture tck) throws Exception {
        String name = tck.create(2);
        SemaphoreClient client = tck.client();
        DistributedSemaphore semaphore = client.semaphore(name);
        Permit kept = tck.take(semaphore, 1).get(0);
        Duration validity = tck.validity(kept.validUntil());
        CountDownLatch end = new CountDownLatch(1);
        try {
            blockContinuations(tck, semaphore, end);
            for (DistributedSemaphore any : List.of(semaphore, client.semaphore(tck.create(1)))) {
                Waiters.served(tck, any.acquireAsync(), "many continuations that block delay another future")
                        .release();
            }
            tck.proveHeld(
                    "a permit stays held while many continuations block", timeToRenew(tck), validity, kept::isValid);
        } finally {
            end.countDown();
        }
        kept.release();
        tck.assertFree(name, 2);
    }

    private static void blockContinuations(TckFixture tck, DistributedSemaphore semaphore, CountDownLatch end) {
        CountDownLatch begun = new CountDownLatch(TASKS);
        // What is chained to a future that is complete already would run on this thread.
        Permit last = tck.take(semaphore, 1).get(0);
        for (int i = 0; i < TASKS; i++) {
            CompletableFuture<Void> unused = semaphore.acquireAsync().thenAccept(permit -> {
                permit.close();
                begun.countDown();
                Pause.until(end);
            });
        }
        last.release();
        tck.await("each of " + TASKS + " continuations runs, although all of them block", () -> begun.getCount() == 0);
    }

    private static Duration timeToRenew(TckFixture tck) {
        Duration lease = tck.guarantees().detectionMax();
        return tck.full() || lease.compareTo(SHORT_LEASE) <= 0 ? lease : tck.quiet();
    }

    /** A backend may list, call and hint only the first of many clients, and those behind them may ask more seldom. */
    @Test
    @Rule({"2.1", "2.7"})
    void eachClientOfACrowdIsServedWhenItsTurnComes(TckFixture tck) {
        String name = tck.create(1);
        Permit held =
                tck.take(tck.client(Waiters.hinted(tck)).semaphore(name), 1).get(0);
        List<CompletableFuture<Permit>> waiting = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            DistributedSemaphore semaphore = tck.client(Waiters.hinted(tck)).semaphore(name);
            // A new client connects first, which is no wake-up.
            assertThat(semaphore.tryAcquire()).isEmpty();
            waiting.add(semaphore.acquireAsync());
            Pause.millis(ARRIVAL.toMillis());
        }
        tck.proveNothing(
                "a crowd of clients waits for what is held",
                () -> waiting.stream().noneMatch(CompletableFuture::isDone));
        held.release();
        // For those far back nothing is declared; they ask every second and a half at the latest.
        Duration bound = tck.guarantees().wakeUpBound().multipliedBy(2);
        while (!waiting.isEmpty()) {
            tck.await(
                    "a release serves the next of " + waiting.size() + " waiting clients",
                    bound,
                    () -> waiting.stream().anyMatch(CompletableFuture::isDone));
            int next = IntStream.range(0, waiting.size())
                    .filter(client -> waiting.get(client).isDone())
                    .findFirst()
                    .orElseThrow();
            waiting.remove(next).join().release();
        }
        tck.assertFree(name, 1);
    }

    /** A backend may read the first of many clients only. */
    @Test
    @Rule({"9.1", "8.13", "8.15", "1.1"})
    void whatACrowdHoldsIsShownAndOutlivesADestroy(TckFixture tck) throws Exception {
        String name = tck.create(CLIENTS);
        List<DistributedSemaphore> crowd = Stream.generate(
                        () -> tck.client(Waiters.lasting(tck)).semaphore(name))
                .limit(CLIENTS)
                .toList();
        long since = System.nanoTime();
        // One after the other, so that who comes first, and whose lease ends first, has the lowest slot.
        List<Permit> held = crowd.stream()
                .flatMap(semaphore -> tck.take(semaphore, 1).stream())
                .toList();
        assertShown(tck, name, held, since);
        SemaphoreAdmin admin = tck.client().admin();
        assertThat(admin.destroy(name))
                .as("what a destroy says that nobody else did")
                .isTrue();
        assertHeld(tck, held, since, "after a destroy", Verification.RETIRED);
        assertThat(admin.awaitReleased(name, Duration.ZERO))
                .as("all of a crowd are said to have released")
                .isFalse();
        assertThat(admin.create(name, CLIENTS))
                .as("what a create says that nobody else did")
                .isTrue();
        assertShown(tck, name, held, since);
        assertHeld(tck, held, since, "after it was created again", Verification.HELD, Verification.RETIRED);
        held.forEach(Permit::release);
        assertThat(admin.awaitReleased(name, Duration.ZERO))
                .as("all have released")
                .isTrue();
        tck.assertFree(name, CLIENTS);
    }

    private static void assertShown(TckFixture tck, String name, List<Permit> held, long since) {
        assertHeld(tck, held, since, "before a look", Verification.HELD, Verification.RETIRED);
        SemaphoreClient fresh = tck.client();
        SemaphoreDescription seen = fresh.admin().describe(name).orElseThrow();
        Optional<Permit> more = fresh.semaphore(name).tryAcquire();
        assertHeld(tck, held, since, "after a look", Verification.HELD, Verification.RETIRED);
        assertThat(more)
                .as("a permit while a crowd of %s holds all", held.size())
                .isEmpty();
        assertThat(seen.free())
                .as("free while a crowd of %s holds all", held.size())
                .isZero();
        assertThat(seen.holders())
                .as("the slots of the holders")
                .extracting(Holder::slot)
                .containsExactlyElementsOf(
                        held.stream().map(Permit::slot).sorted().toList());
    }

    private static void assertHeld(TckFixture tck, List<Permit> held, long since, String when, Verification... may) {
        for (Permit permit : held) {
            Verification now = permit.verify();
            if (now == Verification.LOST) {
                tck.abortIfStoodStill(tck.guarantees().detectionMax().dividedBy(4), since);
            }
            assertThat(now).as("a permit of one of a crowd, %s", when).isIn((Object[]) may);
        }
    }

    /**
     * Each client knows the limit from before, and some backends remove slots one after the other while groups take several of them. Once the
     * resize has returned, no client is granted one of those.
     */
    @Test
    @Rule({"8.6", "1.5"})
    void afterAResizeThatMetGroupsNoneIsGrantedARemovedSlot(TckFixture tck) {
        String name = tck.create(LIMIT);
        List<DistributedSemaphore> semaphores =
                List.of(tck.client().semaphore(name), tck.client().semaphore(name));
        for (int unused : tck.repeat(200, RESIZES)) {
            tck.home().admin().resize(name, LIMIT);
            semaphores.forEach(
                    semaphore -> semaphore.tryAcquire(LIMIT).orElseThrow().close());
            resizeBesideGroups(tck, name, semaphores);
            for (DistributedSemaphore semaphore : semaphores) {
                int several = 2 + tck.random().nextInt(LIMIT - 1);
                assertThatThrownBy(
                                () -> semaphore.tryAcquire(several),
                                "a group of %s after a resize to one returned",
                                several)
                        .isInstanceOf(IllegalArgumentException.class);
            }
            Permit only = tck.take(tck.home().semaphore(name), 1).get(0);
            assertThat(semaphores.stream().map(DistributedSemaphore::tryAcquire))
                    .as("a permit while the only one is held")
                    .allMatch(Optional::isEmpty);
            only.release();
        }
        tck.assertFree(name, 1);
    }

    /** Gives back what the groups were granted meanwhile. */
    private static void resizeBesideGroups(TckFixture tck, String name, List<DistributedSemaphore> semaphores) {
        List<Callable<Optional<PermitGroup>>> calls = new ArrayList<>();
        for (DistributedSemaphore semaphore : semaphores) {
            calls.add(() -> groupIfItFits(semaphore));
        }
        calls.add(() -> {
            tck.home().admin().resize(name, 1);
            return Optional.empty();
        });
        for (Task<Optional<PermitGroup>> call : tck.race("a resize meets groups", calls)) {
            call.result().ifPresent(PermitGroup::close);
        }
    }

    private static Optional<PermitGroup> groupIfItFits(DistributedSemaphore semaphore) {
        try {
            return semaphore.tryAcquire(LIMIT);
        } catch (IllegalArgumentException e) {
            // The limit is lower by now.
            return Optional.empty();
        }
    }

    /** An adapter may look at a part of many slots only, or count the holders of several of them together. */
    @Test
    @Rule({"2.8", "12.3"})
    void theOnlyFreeSlotOfManyIsGrantedWhicheverItIs(TckFixture tck) throws Exception {
        int many = Math.min(tck.guarantees().maxPermits(), SLOTS);
        String name = tck.create(many);
        PermitGroup all = tck.client().semaphore(name).acquire(many, tck.patience());
        List<Permit> held = all.permits();
        assertThat(held.get(many - 1).slot())
                .as("the last slot of %s when all are held", many)
                .isEqualTo(many);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        DistributedSemaphore other = tck.client().semaphore(name);
        for (int slot : BORDERS) {
            if (slot <= many) {
                held.get(slot - 1).release();
                // It stays held, so that the next one is the only one too.
                Permit only = tck.take(semaphore, 1).get(0);
                assertThat(only.slot()).as("the only free slot of %s", many).isEqualTo(slot);
                assertThat(other.tryAcquire()).as("one more of %s", many).isEmpty();
            }
        }
        Task<Boolean> close = tck.spawn("closing a large group", all::close);
        tck.await("a large group can be closed", close::isDone);
    }
}
