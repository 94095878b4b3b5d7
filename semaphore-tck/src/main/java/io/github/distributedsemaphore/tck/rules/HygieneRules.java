package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.SemaphoreStatistics;
import io.github.distributedsemaphore.Verification;
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
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Section 16: nothing stays behind. Besides these tests, the kit looks for leftovers after every test. */
@Section
public abstract class HygieneRules {
    private static final Duration BUDGET = Duration.ofSeconds(5);
    private static final int SPARE_THREADS = 8;

    /** A second, of a client that waits: without hints it may ask every 5 ms, and it has nothing else to ask for. */
    private static final int MOST_LOOKS = 250;

    /** In a detection time: several must fit into it, and the failures of some. */
    private static final int MOST_RENEWALS = 20;

    /** For subclasses. */
    protected HygieneRules() {}

    @Test
    @Rule("16.1")
    void closingEndsTheThreadsOfTheClient(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Permit held = tck.take(tck.home().semaphore(name), 1).get(0);
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        // A client that was there before may need another thread meanwhile.
        Set<String> others = before.stream().map(HygieneRules::ownerOf).collect(Collectors.toSet());
        SemaphoreClient client = tck.client();
        CompletableFuture<Permit> waiter = client.semaphore(name).acquireAsync();
        tck.proveNothing("the waiter waits", () -> !waiter.isDone());
        client.close();
        client.close();
        tck.await("the waiter of a closed client ends with an exception", waiter::isCompletedExceptionally);
        tck.await(
                "the threads of a closed client end",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> !before.contains(thread) && thread.isAlive())
                        .filter(thread -> thread.getName().contains("semaphore"))
                        .filter(thread -> !others.contains(ownerOf(thread))
                                && !tck.harness().mayStay(thread))
                        .toList()
                        .isEmpty());
        held.release();
    }

    @Test
    @Rule({"16.1", "2.3"})
    void eachOfManyClosesReturnsWhenAllIsGivenBack(TckFixture tck) {
        String name = tck.create(3);
        for (int unused : tck.repeat(20, Duration.ofSeconds(1))) {
            SemaphoreClient client = tck.client();
            List<Permit> held = tck.take(client.semaphore(name), 3);
            List<Task<Integer>> closes = tck.race("closing", Collections.nCopies(4, () -> {
                client.close();
                return tck.home().semaphore(name).availablePermits();
            }));
            closes.forEach(close -> assertThat(close.result())
                    .as("free when one of several closes has returned")
                    .isEqualTo(3));
            assertThat(held).as("permits of a closed client").noneMatch(Permit::isValid);
        }
    }

    @Test
    @Rule({"16.1", "2.3"})
    void anInterruptNeitherEndsTheCloseOfAClientNorIsLost(TckFixture tck) {
        for (int unused : tck.repeat(20, Duration.ofSeconds(1))) {
            List<String> names = new ArrayList<>();
            SemaphoreClient leaving = tck.client();
            for (int i = 0; i < 6; i++) {
                names.add(tck.create(1));
                tck.take(leaving.semaphore(names.get(i)), 1);
            }
            Task<Boolean> closing = tck.spawn("close of an interrupted thread", () -> {
                Thread.currentThread().interrupt();
                leaving.close();
                return Thread.currentThread().isInterrupted();
            });
            assertThat(closing.result()).as("the interrupt flag after close").isTrue();
            for (String name : names) {
                assertThat(tck.home().semaphore(name).tryAcquire())
                        .as("the permit of a client whose close has returned")
                        .hasValueSatisfying(Permit::close);
                tck.home().admin().destroy(name);
            }
        }
    }

    /** What the engine's threads of one client have in common; of another thread its name. */
    private static String ownerOf(Thread thread) {
        return thread.getName().replaceFirst("-(?:timer|worker)-\\d+$", "");
    }

    @Test
    @Rule("16.1")
    void callsAfterCloseFailAsDeclared(TckFixture tck) {
        String name = tck.create(2);
        SemaphoreClient client = tck.client();
        DistributedSemaphore semaphore = client.semaphore(name);
        SemaphoreAdmin admin = client.admin();
        Permit permit = tck.take(semaphore, 1).get(0);
        client.close();
        assertClosed("semaphore()", () -> client.semaphore(name));
        assertClosed("tryAcquire()", semaphore::tryAcquire);
        assertClosed("acquire()", semaphore::acquire);
        assertClosed("acquire(int)", () -> semaphore.acquire(2));
        assertClosed("acquire(Duration)", () -> semaphore.acquire(tck.patience()));
        assertClosed("availablePermits()", semaphore::availablePermits);
        assertClosed("ping()", () -> client.ping(tck.patience()));
        assertClosed(admin, name);
        assertThat(semaphore.acquireAsync())
                .as("acquireAsync() of a closed client")
                .failsWithin(tck.patience())
                .withThrowableThat()
                .withCauseInstanceOf(SemaphoreClosedException.class);
        assertThat(permit.isValid()).as("isValid() after close").isFalse();
        assertThat(permit.verify()).as("verify() after close").isEqualTo(Verification.RELEASED);
        assertThat(permit.release()).as("release() after close").isEqualTo(ReleaseOutcome.ALREADY_RELEASED);
        assertThat(client.guarantees().backend()).isNotBlank();
        tck.assertFree(name, 2);
    }

    private static void assertClosed(SemaphoreAdmin admin, String name) {
        assertClosed("create()", () -> admin.create(name, 2));
        assertClosed("ensure()", () -> admin.ensure(name, 2));
        assertClosed("resize()", () -> admin.resize(name, 3));
        assertClosed("status()", () -> admin.status(name));
        assertClosed("describe()", () -> admin.describe(name));
        assertClosed("awaitReleased()", () -> admin.awaitReleased(name, Duration.ofSeconds(1)));
        assertClosed("destroy()", () -> admin.destroy(name));
        assertClosed("names()", admin::names);
    }

    private static void assertClosed(String what, ThrowingCallable call) {
        assertThatThrownBy(call, "%s of a closed client", what).isInstanceOf(SemaphoreClosedException.class);
    }

    @Test
    @Rule("16.2")
    void afterDestructionNothingIsLeftAtTheBackend(TckFixture tck) throws Exception {
        Set<String> before = tck.harness().leftovers().things();
        String name = tck.create(3);
        try (SemaphoreClient client = tck.client()) {
            List<Permit> permits = tck.take(client.semaphore(name), 3);
            CompletableFuture<Permit> waiter = tck.home().semaphore(name).acquireAsync(tck.patience());
            tck.home().admin().resize(name, 2);
            permits.forEach(Permit::release);
            waiter.get().release();
        }
        assertThat(tck.home().admin().destroy(name)).isTrue();
        tck.home().close();
        tck.await(
                "what a semaphore left at the backend is gone after destruction: " + before,
                () -> before.containsAll(tck.harness().leftovers().things()));
    }

    @Test
    @Rule("16.3")
    void roundsAndFailedAttemptsLeaveThingsAsTheyWere(TckFixture tck) throws Exception {
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        exercise(tck, semaphore, tck.rounds(100, 10));
        int things = tck.harness().leftovers().things().size();
        Set<Thread> threads = Thread.getAllStackTraces().keySet();
        exercise(tck, semaphore, tck.rounds(10_000, 300));
        tck.await(
                "things at the backend after as many rounds again are not more than " + things + " and one",
                // A client that waits may have one entry for its place. A leak would add an entry in every tenth round.
                () -> tck.harness().leftovers().things().size() <= things + 1);
        tck.await(
                "the number of threads does not grow",
                () -> Thread.getAllStackTraces().keySet().stream()
                                .filter(thread -> thread.getName().contains("semaphore"))
                                .filter(thread -> !threads.contains(thread))
                                .count()
                        // Workers come and go with the load; a leak has one for every tenth round.
                        <= SPARE_THREADS
                                + threads.stream()
                                        .filter(thread -> thread.getName().contains("semaphore"))
                                        .count());
        tck.assertFree(name, 2);
    }

    /** Grants, refusals, time-outs, cancellations and interrupts, a tenth of the rounds each but the first. */
    private static void exercise(TckFixture tck, DistributedSemaphore semaphore, int rounds) throws Exception {
        for (int round : tck.repeat(rounds, BUDGET)) {
            List<Permit> permits = tck.take(semaphore, 2);
            if (round % 10 == 0) {
                assertThat(semaphore.tryAcquire()).isEmpty();
                assertThat(semaphore.tryAcquire(Duration.ofNanos(1_000))).isEmpty();
                CompletableFuture<Permit> cancelled = semaphore.acquireAsync();
                assertThat(cancelled.cancel(true)).isTrue();
                Thread.currentThread().interrupt();
                assertThatThrownBy(semaphore::acquire).isInstanceOf(InterruptedException.class);
            }
            permits.forEach(Permit::release);
        }
    }

    @Test
    @Rule("16.3")
    void releasedPermitsCanBeCollected(TckFixture tck) {
        String name = tck.create(1);
        // Not through the recording proxies, which are what would be collected.
        try (SemaphoreClient client = tck.harness().connect(ClientSpec.plain())) {
            Queue<PermitLoss> losses = new ConcurrentLinkedQueue<>();
            List<WeakReference<Permit>> released = release(client.semaphore(name), 100, losses);
            tck.await("released permits are collected", () -> {
                System.gc();
                return released.stream().filter(permit -> permit.get() != null).count() <= 2;
            });
            assertThat(losses).as("losses told of permits that were released").isEmpty();
        }
    }

    /** A call has a time-out of an hour, and whatever ends it at its time must not keep it until then. */
    @Test
    @Rule("16.3")
    void callsThatHaveEndedCanBeCollected(TckFixture tck) throws Exception {
        String name = tck.create(1);
        try (SemaphoreClient client = tck.harness().connect(ClientSpec.plain())) {
            DistributedSemaphore semaphore = client.semaphore(name);
            List<WeakReference<CompletableFuture<Permit>>> ended = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                ended.add(served(semaphore));
            }
            Permit held = tck.take(tck.home().semaphore(name), 1).get(0);
            for (int i = 0; i < 50; i++) {
                ended.add(cancelled(semaphore));
            }
            tck.await("calls that were served or cancelled are collected", () -> {
                System.gc();
                return ended.stream().filter(call -> call.get() != null).count() <= 2;
            });
            held.release();
        }
        tck.assertFree(name, 1);
    }

    /** What asks without a pause costs the backend as much as the busiest client, and nobody notices. */
    @Test
    @Rule("16.3")
    void aClientThatWaitsOrHoldsAsksNowAndThen(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore holding = tck.client().semaphore(name);
        // The harness may have its clients ask more often.
        DistributedSemaphore waiting =
                tck.client(ClientSpec.plain().with("recheck", "1s")).semaphore(name);
        long taken = System.nanoTime();
        Permit held = tck.take(holding, 1).get(0);
        Duration validity = tck.validity(held.validUntil());
        assertThat(waiting.tryAcquire()).as("a second permit of one").isEmpty();
        CompletableFuture<Permit> waiter = waiting.acquireAsync();
        tck.proveHeld("one waits for what is held", tck.quiet(), validity, () -> !waiter.isDone());
        long since = System.nanoTime();
        long asked = asked(waiting);
        long renewed = renewed(holding);
        Pause.millis(1_000);
        asked = asked(waiting) - asked;
        renewed = renewed(holding) - renewed;
        double seconds = (System.nanoTime() - since) / 1e9;
        if (waiter.isDone()) {
            tck.abortIfStoodStill(validity, taken);
        }
        assertThat(waiter).as("the one that waits for what is held").isNotDone();
        assertThat((double) asked)
                .as("requests of a client that waits, in %s seconds", seconds)
                .isLessThanOrEqualTo(MOST_LOOKS * seconds);
        double leases =
                seconds * 1e9 / Math.max(1, tck.guarantees().detectionMax().toNanos());
        assertThat((double) renewed)
                .as("renewals of a client that holds one permit, in %s detection times", leases)
                .isLessThanOrEqualTo(MOST_RENEWALS * (1 + leases));
        held.release();
        Waiters.served(tck, waiter, "a release did not reach one that waits").release();
        tck.assertFree(name, 1);
    }

    private static long asked(DistributedSemaphore semaphore) {
        SemaphoreStatistics counted = semaphore.statistics();
        return counted.exchanges() + counted.failedExchanges();
    }

    private static long renewed(DistributedSemaphore semaphore) {
        SemaphoreStatistics counted = semaphore.statistics();
        return counted.renewals() + counted.failedRenewals();
    }

    /** What is known of a name goes with its semaphore. An application may use a hundred thousand names in a day. */
    @Test
    @Rule("16.3")
    void namesThatNobodyUsesAnyMoreCanBeCollected(TckFixture tck) {
        // The kit remembers the names that it gives out, but not what is made of them.
        String prefix = tck.uniqueName();
        try (SemaphoreClient client = tck.harness().connect(ClientSpec.plain())) {
            List<WeakReference<String>> gone = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                gone.add(known(client, prefix + "-gone-" + i));
            }
            // Counted, since a collection stops this process, and what that stands still is no part of a bound.
            for (int i = 0; i < 40 && alive(gone) > 2; i++) {
                System.gc();
                Pause.millis(20);
                WeakReference<String> unused = known(client, prefix + "-other-" + i);
            }
            assertThat(alive(gone))
                    .as("of 50 names that nobody uses any more, those that are in memory after 40 collections")
                    .isLessThanOrEqualTo(2);
        }
    }

    private static long alive(List<WeakReference<String>> names) {
        return names.stream().filter(name -> name.get() != null).count();
    }

    private static WeakReference<String> known(SemaphoreClient client, String name) {
        assertThat(client.semaphore(name).name()).isEqualTo(name);
        return new WeakReference<>(name);
    }

    private static WeakReference<CompletableFuture<Permit>> served(DistributedSemaphore semaphore) throws Exception {
        CompletableFuture<Permit> call = semaphore.acquireAsync(Duration.ofHours(1));
        call.get().release();
        return new WeakReference<>(call);
    }

    private static WeakReference<CompletableFuture<Permit>> cancelled(DistributedSemaphore semaphore) {
        CompletableFuture<Permit> call = semaphore.acquireAsync(Duration.ofHours(1));
        call.cancel(true);
        return new WeakReference<>(call);
    }

    private static List<WeakReference<Permit>> release(
            DistributedSemaphore semaphore, int count, Queue<PermitLoss> losses) {
        List<WeakReference<Permit>> released = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Permit permit = semaphore.tryAcquire().orElseThrow();
            permit.onLost(losses::add);
            permit.release();
            released.add(new WeakReference<>(permit));
        }
        return released.stream().collect(Collectors.toList());
    }
}
