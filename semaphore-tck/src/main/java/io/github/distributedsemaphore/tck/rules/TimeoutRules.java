package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.tck.fixture.Action;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.watch.Occupancy;
import io.github.distributedsemaphore.tck.watch.Race;
import io.github.distributedsemaphore.tck.watch.Waiters;
import io.github.distributedsemaphore.tck.watch.WaitingCalls;
import java.lang.reflect.Method;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.opentest4j.TestAbortedException;

/** Section 3: time-outs; for interrupts see {@link InterruptRules}, for clients that close {@link ClosingRules}. */
@Section
public abstract class TimeoutRules {
    /** In which ten thousand have their turn; it takes seconds. */
    private static final Duration CROWD_PATIENCE = Duration.ofSeconds(90);

    private static final Duration INTERRUPTED = Duration.ofMillis(500);

    /** For subclasses. */
    protected TimeoutRules() {}

    @Test
    @Rule("3.1")
    void aTryReturnsAtOnceWhenNothingIsFree(TckFixture tck) throws Exception {
        String name = tck.create(2);
        List<Permit> held = tck.take(tck.client().semaphore(name), 2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Duration operation = tck.guarantees().callBound();
        for (int unused : tck.repeat(20, Duration.ofMillis(500))) {
            endsWithin(tck, operation, () -> assertThat(semaphore.tryAcquire()).isEmpty());
            endsWithin(tck, operation, () -> assertThat(semaphore.tryAcquire(2)).isEmpty());
            endsWithin(
                    tck,
                    operation,
                    () -> assertThat(semaphore.tryAcquire(Duration.ZERO)).isEmpty());
        }
        held.forEach(Permit::close);
    }

    private static void endsWithin(TckFixture tck, Duration bound, Action attempt) throws Exception {
        long since = System.nanoTime();
        attempt.run();
        tck.assertWithin(Bound.OPERATION, bound, System.nanoTime() - since);
    }

    @Test
    @Rule("3.2")
    void aTimedAttemptFailsNotBeforeItsTimeAndSoonAfterIt(TckFixture tck) throws Exception {
        String name = tck.create(3);
        List<Permit> held = tck.take(tck.client().semaphore(name), 3);
        tck.client().admin().resize(name, 2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        // Time enough for a busy backend to say that nothing is free.
        Duration wait = Duration.ofMillis(200);
        for (WaitingCalls.Call call :
                WaitingCalls.waitingFor(WaitingCalls.For.A_PERMIT, WaitingCalls.For.A_RETIRED_HOLDER)) {
            if (call.isLimited()) {
                tck.inTime(() -> failsInTime(tck, semaphore, call, wait));
            }
        }
        // What looks ever more seldom whether its wait is over may be late only after a longer one.
        WaitingCalls.Call retired =
                WaitingCalls.waitingFor(WaitingCalls.For.A_RETIRED_HOLDER).get(0);
        List<Task<Boolean>> longer = Stream.of(350, 550, 750)
                .map(Duration::ofMillis)
                .map(time -> tck.spawn(
                        retired + " for " + time, () -> tck.inTime(() -> failsInTime(tck, semaphore, retired, time))))
                .toList();
        longer.forEach(Task::result);
        held.forEach(Permit::close);
        tck.assertFree(name, 2);
    }

    /** A wait whose time is over returns nothing or false, or throws. */
    private static void failsInTime(
            TckFixture tck, DistributedSemaphore semaphore, WaitingCalls.Call call, Duration wait) throws Exception {
        long since = System.nanoTime();
        long ended;
        try {
            Object returned = call.body().call(tck.home(), semaphore, wait);
            ended = System.nanoTime();
            assertThat(returned)
                    .as("what %s returned where nothing came free", call)
                    .isIn(Optional.empty(), false);
        } catch (SemaphoreTimeoutException e) {
            ended = System.nanoTime();
            assertThat(e).hasMessageContaining(semaphore.name());
        } catch (BackendUnavailableException e) {
            tck.abortIfStoodStill(wait.dividedBy(4), since);
            throw e;
        }
        assertThat(Duration.ofNanos(ended - since))
                .as("%s gave up before its time was over", call)
                .isGreaterThanOrEqualTo(wait);
        tck.assertWithin(Bound.TIMEOUT_SLACK, TckFixture.MOST_LATE, since + wait.toNanos(), ended);
    }

    private static void refused(String name, Callable<?> attempt) {
        assertThatThrownBy(attempt::call, "the end of a timed attempt on '%s'", name)
                .isInstanceOf(SemaphoreTimeoutException.class)
                .hasMessageContaining(name);
    }

    @Test
    @Rule("3.2")
    void aTimedAttemptSucceedsIfAPermitComesInTime(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Permit held = tck.client().semaphore(name).acquire(tck.patience());
        Task<Optional<Permit>> waiter = tck.spawn("timed waiter", () -> semaphore.tryAcquire(tck.patience()));
        waiter.awaitBlocked();
        held.release();
        Optional<Permit> permit = waiter.result();
        assertThat(permit)
                .as("a permit that came long before the time was over was not taken")
                .isPresent();
        permit.orElseThrow().release();
    }

    @Test
    @Rule("3.3")
    void zeroAndNegativeTimesAreOneAttempt(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Duration operation = tck.guarantees().callBound();
        for (Duration none : List.of(Duration.ZERO, Duration.ofNanos(-1), Duration.ofSeconds(Long.MIN_VALUE))) {
            Optional<Permit> permit = semaphore.tryAcquire(none);
            assertThat(permit)
                    .as("one attempt was made with a time of %s, and a permit was free", none)
                    .isPresent();
            endsWithin(
                    tck, operation, () -> assertThat(semaphore.tryAcquire(none)).isEmpty());
            endsWithin(tck, operation, () -> refused(name, () -> semaphore.acquire(none)));
            permit.orElseThrow().release();
            semaphore.acquire(none).release();
        }
    }

    @Test
    @Rule("3.3")
    void hugeTimesDoNotOverflowAndTinyOnesAreNotForEver(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Duration operation = tck.guarantees().callBound();
        for (Duration huge : List.of(
                Duration.ofSeconds(Long.MAX_VALUE),
                ChronoUnit.FOREVER.getDuration(),
                Duration.ofNanos(Long.MAX_VALUE))) {
            Permit held = semaphore.acquire(tck.patience());
            Task<Permit> waiter = tck.spawn("waiter for " + huge, () -> semaphore.acquire(huge));
            waiter.awaitBlocked();
            CompletableFuture<Permit> future = semaphore.acquireAsync(huge);
            long since = System.nanoTime();
            held.release();
            Permit next = Waiters.served(tck, waiter, since, "a waiter with a time of " + huge + " was not served");
            next.release();
            Waiters.served(tck, future, "a future with a time of " + huge + " was not served")
                    .release();
        }
        Permit held = semaphore.acquire(tck.patience());
        endsWithin(tck, operation, () -> refused(name, () -> semaphore.acquire(Duration.ofNanos(1))));
        endsWithin(tck, operation, () -> refused(name, () -> semaphore.acquire(Duration.ofNanos(999_999))));
        held.release();
        assertThat(isGrantedOnce(semaphore, Duration.ofNanos(1), operation.multipliedBy(2)))
                .as("one of many attempts with a time of a nanosecond got the permit, which was free")
                .isTrue();
    }

    /** A time that is over before the backend can answer is still one attempt. On a busy machine many of them fail. */
    private static boolean isGrantedOnce(DistributedSemaphore semaphore, Duration time, Duration patience)
            throws InterruptedException {
        long begun = System.nanoTime();
        do {
            Optional<Permit> permit = semaphore.tryAcquire(time);
            if (permit.isPresent()) {
                permit.get().release();
                return true;
            }
        } while (System.nanoTime() - begun < patience.toNanos());
        return false;
    }

    @Test
    @Rule("3.6")
    void aTimeOutThatRacesTheGrantHasOneOutcome(TckFixture tck, TestReporter reporter) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        List<DistributedSemaphore> views = List.of(semaphore, tck.client().semaphore(name));
        Permit[] held = {null};
        long[] quickest = {Long.MAX_VALUE};
        Duration[] times = new Duration[2];
        List<Optional<Permit>> outcomes = new ArrayList<>();
        Race.run(
                tck,
                reporter,
                round -> {
                    long begun = System.nanoTime();
                    held[0] = Waiters.soon(
                            tck,
                            semaphore,
                            "a time-out that raced the grant swallowed the permit, before race " + round);
                    quickest[0] = Math.min(quickest[0], System.nanoTime() - begun);
                    // Long enough for a call to be refused first and to wait, so that the grant comes by the release.
                    times[0] = share(tck, quickest[0], 1, 4);
                    times[1] = share(tck, times[0].toNanos(), 0, 1);
                },
                round -> outcomes.add(views.get(round % 2).tryAcquire(times[0])),
                round -> {
                    Race.pass(times[1].toNanos());
                    held[0].release();
                },
                round -> outcomes.get(round).ifPresent(Permit::release));
        tck.assertFree(name, 1);
        requireBoth(outcomes);
    }

    private static void requireBoth(List<Optional<Permit>> outcomes) {
        long granted = outcomes.stream().filter(Optional::isPresent).count();
        if (granted == 0 || granted == outcomes.size()) {
            throw new TestAbortedException(
                    granted + " of " + outcomes.size() + " calls were granted, so no time-out met a grant");
        }
    }

    private static Duration share(TckFixture tck, long nanos, double least, double most) {
        return Duration.ofNanos((long) (nanos * (least + tck.random().nextDouble() * (most - least))));
    }

    @Test
    @Rule("3.8")
    void moreVirtualThreadsThanCarriersDoNotDeadlock(TckFixture tck) throws Exception {
        ExecutorService threads = virtualThreads();
        try {
            DistributedSemaphore semaphore = tck.semaphore(2);
            List<Future<Boolean>> done = new ArrayList<>();
            for (int i = 0; i < tck.rounds(2_000, 300); i++) {
                done.add(threads.submit(() -> {
                    try (Permit permit = semaphore.acquire(tck.patience())) {
                        Occupancy.letOthersIn();
                        return permit.isValid();
                    }
                }));
            }
            for (Future<Boolean> one : done) {
                assertThat(one.get(tck.patience().toNanos(), TimeUnit.NANOSECONDS))
                        .as("the permit of a virtual thread is valid")
                        .isTrue();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    @Rule("3.8")
    void tenThousandVirtualThreadsWaitAtThreePermits(TckFixture tck) throws Exception {
        ExecutorService threads = virtualThreads();
        try {
            int crowd = 10_000;
            DistributedSemaphore semaphore = tck.semaphore(3);
            List<Permit> held = tck.take(semaphore, 3);
            Occupancy occupancy = new Occupancy(3);
            CountDownLatch arrived = new CountDownLatch(crowd);
            List<Future<Boolean>> done = new ArrayList<>();
            for (int i = 0; i < crowd; i++) {
                done.add(threads.submit(() -> {
                    arrived.countDown();
                    // Twice, so that some come while others hold.
                    for (int turn = 0; turn < 2; turn++) {
                        try (Permit permit = semaphore.acquire(CROWD_PATIENCE)) {
                            occupancy.visit(permit);
                        }
                    }
                    return true;
                }));
            }
            tck.await("all virtual threads have started", CROWD_PATIENCE, () -> arrived.getCount() == 0);
            held.forEach(Permit::release);
            tck.await(
                    "each of " + crowd + " virtual threads gets one of three permits",
                    CROWD_PATIENCE,
                    () -> done.stream().allMatch(Future::isDone));
            occupancy.assertNeverExceeded();
            for (Future<Boolean> one : done) {
                assertThat(one).as("the turns of a virtual thread").succeedsWithin(Duration.ZERO);
            }
            tck.assertFree(semaphore.name(), 3);
        } finally {
            threads.shutdownNow();
        }
    }

    /** An interrupt closes the socket that a virtual thread reads from. The client is to see to it that this is none of its own. */
    @Test
    @Rule({"3.8", "3.5"})
    void interruptsBreakOffNoRequestOfAVirtualThread(TckFixture tck) throws Exception {
        ExecutorService threads = virtualThreads();
        try {
            DistributedSemaphore semaphore = tck.semaphore(1);
            CompletableFuture<Thread> caller = new CompletableFuture<>();
            Future<Integer> done = threads.submit(() -> {
                caller.complete(Thread.currentThread());
                int taken = 0;
                for (int unused : tck.repeat(tck.rounds(2_000, 200), INTERRUPTED)) {
                    taken += release(semaphore.tryAcquire());
                }
                return taken;
            });
            while (!done.isDone()) {
                caller.join().interrupt();
                Race.pass(tck.random().nextInt(200_000));
            }
            assertThat(done.get())
                    .as("permits that an interrupted thread has taken")
                    .isPositive();
            tck.assertFree(semaphore.name(), 1);
        } finally {
            threads.shutdownNow();
        }
    }

    private static int release(Optional<Permit> permit) {
        permit.ifPresent(taken -> assertThat(taken.release()).isEqualTo(ReleaseOutcome.RELEASED));
        return permit.isPresent() ? 1 : 0;
    }

    /** Virtual threads came with Java 21; the kit is compiled for 17. */
    private static ExecutorService virtualThreads() throws ReflectiveOperationException {
        try {
            Method method = java.util.concurrent.Executors.class.getMethod("newVirtualThreadPerTaskExecutor");
            return (ExecutorService) method.invoke(null);
        } catch (NoSuchMethodException e) {
            throw new TestAbortedException(
                    "no virtual threads on Java " + Runtime.version().feature(), e);
        }
    }
}
