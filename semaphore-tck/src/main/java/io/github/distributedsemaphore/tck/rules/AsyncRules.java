package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Occupancy;
import io.github.distributedsemaphore.tck.watch.Race;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

/** Section 10: futures. */
@Section
public abstract class AsyncRules {
    /** For subclasses. */
    protected AsyncRules() {}

    @Test
    @Rule("10.1")
    void aFutureCompletesNowOrWhenAPermitIsFreed(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Permit now = Waiters.served(tck, semaphore.acquireAsync(), "a future was not completed with a free permit");
        assertThat(now.isValid()).as("the permit of a future is valid").isTrue();
        CompletableFuture<Permit> local = semaphore.acquireAsync();
        CompletableFuture<Permit> remote = tck.client().semaphore(name).acquireAsync(tck.patience());
        assertThat(local).as("a future was completed beyond the limit").isNotDone();
        now.release();
        Permit first = (Permit)
                CompletableFuture.anyOf(local, remote).get(tck.patience().toNanos(), TimeUnit.NANOSECONDS);
        assertThat(local.isDone() && remote.isDone())
                .as("two futures were completed with one permit")
                .isFalse();
        CompletableFuture<Permit> other = local.isDone() ? remote : local;
        first.release();
        Waiters.served(tck, other, "a future was not completed by a release").release();
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("10.1")
    void futuresAndThreadsShareOneBound(TckFixture tck) throws Exception {
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Occupancy occupancy = new Occupancy(2);
        List<Task<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            boolean async = i % 2 == 0;
            tasks.add(tck.spawn("mixed contender", () -> {
                for (int unused : tck.repeat(1_000, Duration.ofMillis(800))) {
                    Permit permit = async
                            ? semaphore.acquireAsync().get(tck.patience().toNanos(), TimeUnit.NANOSECONDS)
                            : semaphore.acquire(tck.patience());
                    occupancy.visit(permit);
                    permit.release();
                }
                return null;
            }));
        }
        occupancy.assertNeverExceededBy(tasks);
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("10.1")
    void aFutureTakesSeveralTogetherOrFailsInTime(TckFixture tck) throws Exception {
        String name = tck.create(3);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        PermitGroup group =
                semaphore.acquireAsync(2, tck.patience()).get(tck.patience().toNanos(), TimeUnit.NANOSECONDS);
        assertThat(group.permits()).as("permits of a future for two").hasSize(2);
        tck.inTime(() -> {
            Duration wait = Duration.ofMillis(50);
            long since = System.nanoTime();
            CompletableFuture<PermitGroup> late = semaphore.acquireAsync(2, wait);
            tck.await("a future whose time is over fails", late::isDone);
            long ended = System.nanoTime();
            assertThatThrownBy(late::get, "a future for two where one was free")
                    .hasCauseInstanceOf(SemaphoreTimeoutException.class);
            assertThat(Duration.ofNanos(ended - since))
                    .as("a future failed before its time was over")
                    .isGreaterThanOrEqualTo(wait);
            tck.assertWithin(Bound.TIMEOUT_SLACK, TckFixture.MOST_LATE, since + wait.toNanos(), ended);
        });
        group.close();
        tck.assertFree(name, 3);
    }

    @Test
    @Rule("10.2")
    void aCancelBeforeTheGrantWithdrawsTheRequest(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Permit held = semaphore.acquire(tck.patience());
        CompletableFuture<Permit> future = semaphore.acquireAsync();
        CompletableFuture<PermitGroup> group = semaphore.acquireAsync(1, tck.patience());
        assertThat(future.cancel(true)).as("a pending future can be cancelled").isTrue();
        assertThat(group.cancel(false))
                .as("a pending future for a group can be cancelled")
                .isTrue();
        held.release();
        tck.assertFree(name, 1);
        assertThat(future).as("a cancelled future").isCancelled();
    }

    @Test
    @Rule("10.2")
    void aCancelThatRacesTheGrantLosesNoPermit(TckFixture tck, TestReporter reporter) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        List<CompletableFuture<Permit>> future = new ArrayList<>();
        Race.run(
                tck,
                reporter,
                round -> {
                    future.clear();
                    Waiters.soon(
                                    tck,
                                    semaphore,
                                    "a cancel that raced the grant swallowed the permit, before race " + round)
                            .release();
                },
                round -> future.add(semaphore.acquireAsync()),
                round -> {},
                round -> {
                    future.get(0).cancel(true);
                    if (!future.get(0).isCancelled()) {
                        future.get(0).get().release();
                    }
                });
        Permit[] held = {null};
        Race.run(
                tck,
                reporter,
                round -> {
                    held[0] = Waiters.soon(
                            tck, semaphore, "a cancel that raced the grant swallowed the permit, before race " + round);
                    future.set(0, semaphore.acquireAsync());
                },
                round -> held[0].release(),
                round -> future.get(0).cancel(true),
                round -> {
                    if (!future.get(0).isCancelled()) {
                        future.get(0).get().release();
                    }
                });
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("10.2")
    void aTaskThatIsCancelledWhenItsPermitComesKeepsNone(TckFixture tck, TestReporter reporter) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Permit[] held = {null};
        List<CompletableFuture<Integer>> task = new ArrayList<>();
        Race.run(
                tck,
                reporter,
                round -> {
                    held[0] =
                            Waiters.soon(tck, semaphore, "a cancelled task swallowed the permit, before race " + round);
                    task.clear();
                    task.add(semaphore.withPermitAsync(tck.patience(), permit -> CompletableFuture.completedFuture(1)));
                },
                round -> held[0].release(),
                round -> task.get(0).cancel(true),
                round -> {});
        tck.assertFree(name, 1);
    }

    /** What runs goes on, and it relies on its permit. */
    @Test
    @Rule("10.2")
    void aTaskThatIsCancelledWhileItRunsKeepsItsPermitUntilItsStageEnds(TckFixture tck) {
        String name = tck.create(1);
        DistributedSemaphore other = tck.client().semaphore(name);
        Queue<Permit> seen = new ConcurrentLinkedQueue<>();
        CompletableFuture<Integer> work = new CompletableFuture<>();
        CompletableFuture<Integer> result = tck.home().semaphore(name).withPermitAsync(tck.patience(), permit -> {
            seen.add(permit);
            return work;
        });
        tck.await("an asynchronous task begins", () -> !seen.isEmpty());
        result.cancel(true);
        assertThat(seen.element().isValid())
                .as("the permit of a task that runs is valid after its result was cancelled")
                .isTrue();
        assertThat(other.tryAcquire())
                .as("the permit of a task that runs, after its result was cancelled")
                .isEmpty();
        work.complete(1);
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("10.1")
    void askingForAFutureDoesNotBlockTheCaller(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Permit held = semaphore.acquire(tck.patience());
        List<CompletableFuture<Permit>> futures = new ArrayList<>();
        for (int i = 0; i < tck.rounds(500, 50); i++) {
            long since = System.nanoTime();
            futures.add(semaphore.acquireAsync());
            tck.assertWithin(Bound.OPERATION, tck.guarantees().callBound(), System.nanoTime() - since);
        }
        assertThat(futures).as("futures while the only permit is held").noneMatch(CompletableFuture::isDone);
        futures.forEach(future -> future.cancel(true));
        held.release();
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("10.4")
    void badContinuationsDelayNoOtherCompletion(TckFixture tck) throws Exception {
        String name = tck.create(3);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        List<Permit> held = tck.take(semaphore, 3);
        CountDownLatch end = new CountDownLatch(1);
        CountDownLatch blocked = new CountDownLatch(1);
        try {
            CompletableFuture<Void> blocking = semaphore.acquireAsync().thenAccept(permit -> {
                permit.close();
                blocked.countDown();
                Pause.until(end);
            });
            CompletableFuture<Void> throwing = semaphore.acquireAsync().thenAccept(permit -> {
                permit.close();
                throw new IllegalStateException("a continuation that throws, on purpose");
            });
            CompletableFuture<Void> reentrant = semaphore.acquireAsync().thenAccept(permit -> {
                permit.close();
                semaphore.tryAcquire().ifPresent(Permit::close);
                semaphore.availablePermits();
            });
            held.forEach(Permit::release);
            tck.await("a continuation runs", () -> blocked.getCount() == 0);
            CompletableFuture<Permit> next = semaphore.acquireAsync();
            Waiters.served(tck, next, "a continuation that blocks delays the completion of another future")
                    .release();
            tck.await("the other continuations ran", () -> throwing.isDone() && reentrant.isDone());
            assertThat(reentrant).as("a continuation that uses the semaphore").isCompleted();
            end.countDown();
            tck.await("the blocking continuation ends", blocking::isDone);
        } finally {
            end.countDown();
        }
        tck.assertFree(name, 3);
    }

    @Test
    @Rule("10.4")
    void aContinuationMayCloseItsOwnClient(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Permit held = tck.home().semaphore(name).acquire(tck.patience());
        SemaphoreClient leaving = tck.client();
        CompletableFuture<Void> closing = leaving.semaphore(name).acquireAsync().thenAccept(permit -> leaving.close());
        held.release();
        tck.await(
                "a continuation closes the client of its future",
                tck.guarantees().wakeUpBound().plus(tck.guarantees().callBound()),
                closing::isDone);
        assertThat(closing).as("a continuation that closes its client").isCompleted();
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("10.4")
    void closingTheClientCompletesAllPendingFutures(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Permit held = tck.home().semaphore(name).acquire(tck.patience());
        SemaphoreClient leaving = tck.client();
        List<CompletableFuture<Permit>> futures = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            futures.add(leaving.semaphore(name).acquireAsync());
        }
        leaving.close();
        for (CompletableFuture<Permit> future : futures) {
            tck.await(
                    "closing a client completes its pending futures",
                    tck.guarantees().callBound(),
                    future::isDone);
            assertThatThrownBy(future::get, "a pending future of a closed client")
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(SemaphoreClosedException.class);
        }
        held.release();
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("10.1")
    void whatAPermitDoesWithoutBlockingIsWhatItDoesElse(TckFixture tck) throws Exception {
        String name = tck.create(3);
        long patience = tck.patience().toNanos();
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        semaphore.acquireAsync(2).get(patience, TimeUnit.NANOSECONDS).close();
        PermitGroup group = semaphore.acquire(2, tck.patience());
        Permit permit = semaphore.acquire(tck.patience());
        assertThat(permit.verifyAsync().get(patience, TimeUnit.NANOSECONDS))
                .as("a permit that is held")
                .isEqualTo(Verification.HELD);
        assertThat(permit.releaseAsync().get(patience, TimeUnit.NANOSECONDS))
                .as("the release of a permit")
                .isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(permit.verifyAsync().get(patience, TimeUnit.NANOSECONDS))
                .as("a permit that was released")
                .isEqualTo(Verification.RELEASED);
        tck.assertFree(name, 1);
        assertThat(group.releaseAsync().get(patience, TimeUnit.NANOSECONDS))
                .as("the release of a group of two")
                .containsExactly(ReleaseOutcome.RELEASED, ReleaseOutcome.RELEASED);
        tck.assertFree(name, 3);
    }

    @Test
    @Rule({"10.1", "4.1", "4.4"})
    void whatIsNotHeldAnyMoreIsAnsweredWithoutBlockingToo(TckFixture tck) {
        String name = tck.create(3);
        PermitGroup group = tck.home().semaphore(name).tryAcquire(2).orElseThrow();
        assertThat(settled(tck, group.verifyAsync())).as("a group that is held").isEqualTo(Verification.HELD);
        group.permits().get(0).release();
        assertThat(settled(tck, group.verifyAsync()))
                .as("a group of which one permit was released")
                .isEqualTo(Verification.RELEASED);
        assertThat(settled(tck, group.releaseAsync()))
                .as("the release of a group of which one permit was released")
                .containsExactly(ReleaseOutcome.ALREADY_RELEASED, ReleaseOutcome.RELEASED);
        assertThat(settled(tck, group.permits().get(0).releaseAsync()))
                .as("a second release")
                .isEqualTo(ReleaseOutcome.ALREADY_RELEASED);
        assertThat(settled(tck, group.releaseAsync()))
                .as("a second release of a group")
                .containsOnly(ReleaseOutcome.ALREADY_RELEASED);
        tck.assertFree(name, 3);
        SemaphoreClient dying = tck.client();
        Permit lost = tck.take(dying.semaphore(name), 1).get(0);
        dying.abort();
        assertThat(settled(tck, lost.releaseAsync()))
                .as("the release of a permit that was lost")
                .isEqualTo(ReleaseOutcome.WAS_LOST);
        assertThat(settled(tck, lost.verifyAsync()))
                .as("a permit that was lost")
                .isEqualTo(Verification.LOST);
    }

    private static <T> T settled(TckFixture tck, CompletableFuture<T> future) {
        tck.await("a call without blocking has its outcome", future::isDone);
        return future.join();
    }
}
