package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.PermitTask;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Sections 4 and 10: the application's own code. A task under a permit releases it, however the task ends; callbacks run where they are to. */
@Section
public abstract class TaskRules {
    private static final Duration LONG = Duration.ofSeconds(5);

    /** For subclasses. */
    protected TaskRules() {}

    @Test
    @Rule("4.1")
    void aTaskUnderAPermitReleasesItHoweverItEnds(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = tck.semaphore(1);
        int slot = semaphore.withPermit(tck.patience(), permit -> {
            assertThat(semaphore.tryAcquire())
                    .as("free while a task runs under the permit")
                    .isEmpty();
            return permit.slot();
        });
        assertThat(slot).as("the slot the task saw").isEqualTo(1);
        IOException planned = new IOException("planned");
        assertThatThrownBy(
                        () -> semaphore.withPermit(tck.patience(), permit -> {
                            throw planned;
                        }),
                        "the failure of a task under a permit")
                .isSameAs(planned);
        tck.assertFree(semaphore.name(), 1);
        assertThatThrownBy(
                        () -> semaphore.withPermit(tck.patience(), permit -> {
                            permit.release();
                            throw planned;
                        }),
                        "the failure of a task that released its permit itself")
                .isSameAs(planned);
        tck.assertFree(semaphore.name(), 1);
    }

    /** What is chained to the task runs before a release that comes too late. */
    @Test
    @Rule("4.1")
    void anAsynchronousTaskIsDoneWhenItsPermitIsReleased(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = tck.semaphore(1);
        Queue<Permit> seen = new ConcurrentLinkedQueue<>();
        CompletableFuture<Integer> work = new CompletableFuture<>();
        CompletableFuture<Integer> task = semaphore.withPermitAsync(tck.patience(), permit -> {
            seen.add(permit);
            return work;
        });
        CompletableFuture<Boolean> valid =
                task.thenApply(value -> seen.element().isValid());
        CompletableFuture<Thread> thread = task.thenApply(value -> Thread.currentThread());
        tck.await("an asynchronous task begins", () -> !seen.isEmpty());
        work.complete(1);
        tck.await("an asynchronous task ends", valid::isDone);
        assertThat(valid.get()).as("isValid when the result is there").isFalse();
        assertThat(settled(tck, thread))
                .as("the thread of what is chained to the task; this one completed its stage")
                .isNotSameAs(Thread.currentThread());
        tck.assertFree(semaphore.name(), 1);
    }

    @Test
    @Rule("4.1")
    void aTaskOfAnyShapeReleasesItsPermit(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = tck.semaphore(1);
        List<Integer> free = new ArrayList<>();
        semaphore.runWithPermit(tck.patience(), permit -> free.add(semaphore.availablePermits()));
        assertThat(semaphore.tryRunWithPermit(Duration.ZERO, permit -> free.add(semaphore.availablePermits())))
                .as("a task ran where a permit was free")
                .isTrue();
        CompletableFuture<Integer> result = semaphore.withPermitAsync(
                tck.patience(), permit -> CompletableFuture.supplyAsync(semaphore::availablePermits));
        free.add(settled(tck, result));
        assertThat(free).as("free while each task ran").containsExactly(0, 0, 0);
        tck.assertFree(semaphore.name(), 1);
        Permit held = semaphore.acquire(tck.patience());
        assertThat(semaphore.tryRunWithPermit(Duration.ZERO, permit -> free.clear()))
                .as("a task ran where no permit was free")
                .isFalse();
        assertThat(free).as("what the task that did not run would clear").isNotEmpty();
        held.release();
        tck.assertFree(semaphore.name(), 1);
    }

    @Test
    @Rule("4.1")
    void aTaskThatFailsReleasesItsPermit(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = tck.semaphore(1);
        // Code in Kotlin, for one, throws checked exceptions without saying so.
        for (Throwable thrown : List.of(
                new IllegalStateException("thrown by a task"),
                new AssertionError("thrown by a task"),
                new IOException("thrown by a task"))) {
            PermitTask<RuntimeException> fails = permit -> {
                throw unchecked(thrown);
            };
            assertThatThrownBy(
                            () -> semaphore.runWithPermit(tck.patience(), fails), "runWithPermit of a task that throws")
                    .isSameAs(thrown);
            assertThatThrownBy(
                            () -> semaphore.tryRunWithPermit(tck.patience(), fails),
                            "tryRunWithPermit of a task that throws")
                    .isSameAs(thrown);
            assertThatThrownBy(
                            () -> settled(tck, semaphore.withPermitAsync(tck.patience(), permit -> {
                                throw unchecked(thrown);
                            })),
                            "withPermitAsync of a task that throws")
                    .hasCause(thrown);
            assertThatThrownBy(
                            () -> settled(
                                    tck,
                                    semaphore.withPermitAsync(
                                            tck.patience(), permit -> CompletableFuture.failedStage(thrown))),
                            "withPermitAsync of a task whose stage fails")
                    .hasCause(thrown);
            tck.assertFree(semaphore.name(), 1);
        }
    }

    /** However a future ends, what it asked for is not asked for any more, and nobody has to release anything for that. */
    @Test
    @Rule({"10.2", "9.4"})
    void aFutureThatItsCallerEndsWithdrawsItsRequest(TckFixture tck) throws Exception {
        String name = tck.create(2);
        PermitGroup held = tck.client(Waiters.lasting(tck)).semaphore(name).acquire(2, tck.patience());
        DistributedSemaphore semaphore = tck.client().semaphore(name);
        Duration hour = Duration.ofHours(1);
        Queue<Permit> begun = new ConcurrentLinkedQueue<>();
        CompletableFuture<?> task = semaphore.withPermitAsync(hour, permit -> {
            begun.add(permit);
            return CompletableFuture.completedFuture(permit.slot());
        });
        CompletableFuture<?> cancelled = semaphore.acquireAsync();
        CompletableFuture<?> failed = semaphore.acquireAsync(hour);
        CompletableFuture<PermitGroup> completed = semaphore.acquireAsync(2);
        tck.await("four wait", () -> semaphore.statistics().waiting() == 4);
        assertThat(task.cancel(true)).isTrue();
        assertThat(failed.completeExceptionally(new IllegalStateException("planned")))
                .isTrue();
        assertThat(completed.complete(held)).isTrue();
        assertThat(cancelled.cancel(false)).isTrue();
        tck.await("nobody waits any more", () -> semaphore.statistics().waiting() == 0);
        assertThat(semaphore.statistics().withdrawn())
                .as("calls that were counted as withdrawn")
                .isEqualTo(4);
        held.close();
        tck.assertFree(name, 2);
        assertThat(begun).as("permits of a task that was cancelled").isEmpty();
    }

    /** What the client does itself, such as renewals, does not need the application's executor. */
    @Test
    @Rule({"10.4", "2.11"})
    void anExecutorThatIsBusyDelaysCallbacksOnly(TckFixture tck) throws Exception {
        Queue<Runnable> later = new ConcurrentLinkedQueue<>();
        DistributedSemaphore semaphore = calledBackOn(tck, later::add);
        DistributedSemaphore others = tck.home().semaphore(semaphore.name());
        Queue<Thread> threads = new ConcurrentLinkedQueue<>();
        for (boolean cancels : new boolean[] {false, true}) {
            Permit held = tck.take(others, 1).get(0);
            Duration validity = tck.validity(held.validUntil());
            CompletableFuture<Permit> granted = semaphore.acquireAsync();
            CompletableFuture<?> unused =
                    granted.whenComplete((permit, failure) -> threads.add(Thread.currentThread()));
            tck.proveNothing("nothing is granted while another client holds", later::isEmpty);
            long since = System.nanoTime();
            held.release();
            tck.await("the completion of the future is given to the executor", () -> !later.isEmpty());
            tck.proveHeld(
                    "a permit is held while the completion of its future waits",
                    longerThanALease(tck),
                    validity,
                    () -> !granted.isDone() && isFull(others));
            if (cancels) {
                granted.cancel(true);
            }
            if (cancels) {
                tck.await(
                        "a future that is cancelled gives its permit back although its executor is stuck",
                        () -> !isFull(others));
            }
            tck.await("the executor completes the future", () -> runAll(later) && granted.isDone());
            if (!cancels) {
                tck.abortIfStoodStill(validity, since);
                assertThat(granted.get().isValid())
                        .as("isValid of a permit whose future was completed late")
                        .isTrue();
                assertThat(granted.get().release()).isEqualTo(ReleaseOutcome.RELEASED);
            }
            tck.assertFree(semaphore.name(), 1);
        }
        assertThat(threads)
                .as("threads that ran what is chained to the futures; the executor runs all in this one")
                .containsOnly(Thread.currentThread());
    }

    private static boolean isFull(DistributedSemaphore semaphore) {
        Optional<Permit> permit = semaphore.tryAcquire();
        permit.ifPresent(Permit::close);
        return permit.isEmpty();
    }

    private static boolean runAll(Queue<Runnable> tasks) {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
        return true;
    }

    /** Where leases are long, a moment. */
    private static Duration longerThanALease(TckFixture tck) {
        Duration lease =
                tck.scaled(tck.guarantees().detectionMax()).multipliedBy(3).dividedBy(2);
        return tck.has(Capability.LEASE) && lease.compareTo(LONG) < 0 ? lease : tck.quiet();
    }

    @Test
    @Rule("10.4")
    void whatAnExecutorRefusesRunsOnAThreadOfTheClient(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = calledBackOn(tck, task -> {
            throw new RejectedExecutionException("planned");
        });
        Permit held = tck.take(semaphore, 1).get(0);
        CompletableFuture<Permit> waiting = semaphore.acquireAsync();
        CompletableFuture<Thread> task = semaphore.withPermitAsync(
                tck.patience(), permit -> CompletableFuture.completedFuture(Thread.currentThread()));
        tck.proveNothing("both wait", () -> !waiting.isDone() && !task.isDone());
        assertThat(settled(tck, held.releaseAsync())).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(settled(tck, waiting).release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(settled(tck, task)).as("the thread of the task").isNotSameAs(Thread.currentThread());
        tck.assertFree(semaphore.name(), 1);
    }

    /** A call that blocks its caller does so without the executor, of which the caller may be the only thread. */
    @Test
    @Rule("10.4")
    void whatBlocksItsCallerNeedsNoExecutor(TckFixture tck) {
        Queue<Runnable> later = new ConcurrentLinkedQueue<>();
        SemaphoreClient client = tck.client(ClientSpec.plain().callingBackOn(later::add));
        DistributedSemaphore semaphore = client.semaphore(tck.create(1));
        Task<Boolean> task = tck.spawn("calls that block", () -> {
            client.ping(tck.patience());
            assertThat(client.admin().awaitReleased(semaphore.name(), Duration.ZERO))
                    .as("whether no removed slot is held, where none was removed")
                    .isTrue();
            Permit permit = semaphore.acquire(tck.patience());
            Verification unused = permit.verify();
            permit.close();
        });
        tck.await("calls that block their caller end although the executor is stuck", task::isDone);
        assertThat(task.result()).isTrue();
        assertThat(later).as("what was given to the executor").isEmpty();
    }

    @Test
    @Rule({"10.4", "6.4"})
    void allThatIsTheApplicationsOwnRunsOnTheExecutor(TckFixture tck) {
        Queue<Runnable> later = new ConcurrentLinkedQueue<>();
        SemaphoreClient client = tck.client(ClientSpec.plain().callingBackOn(later::add));
        DistributedSemaphore semaphore = client.semaphore(tck.create(3));
        long since = System.nanoTime();
        List<Permit> permits = tck.take(semaphore, 2);
        Duration validity = tck.validity(permits.get(0).validUntil());
        Queue<Thread> threads = new ConcurrentLinkedQueue<>();
        permits.get(0).onLost(loss -> threads.add(Thread.currentThread()));
        for (CompletableFuture<?> future : List.of(
                permits.get(0).verifyAsync(),
                permits.get(1).releaseAsync(),
                semaphore.acquireAsync(3, Duration.ofMillis(50)),
                semaphore.withPermitAsync(tck.patience(), permit -> {
                    threads.add(Thread.currentThread());
                    return CompletableFuture.completedFuture(permit.slot());
                }))) {
            CompletableFuture<?> unused = future.whenComplete((value, failure) -> threads.add(Thread.currentThread()));
        }
        tck.await("five callbacks come to the executor", () -> runAll(later) && threads.size() >= 5);
        if (!permits.get(0).isValid()) {
            // Then its loss may be one of the five.
            tck.abortIfStoodStill(validity, since);
        }
        client.abort();
        tck.await("a loss comes to the executor", () -> runAll(later) && threads.size() >= 6);
        assertThat(threads)
                .as("threads that ran what is the application's; the executor runs all in this one")
                .hasSize(6)
                .containsOnly(Thread.currentThread());
    }

    /** An executor may have kept a task that it then says it did not take. */
    @Test
    @Rule({"10.4", "6.4"})
    void whatAnExecutorKeepsAndRefusesIsDoneOnce(TckFixture tck) throws Exception {
        Queue<Runnable> later = new ConcurrentLinkedQueue<>();
        SemaphoreClient client = tck.client(ClientSpec.plain().callingBackOn(task -> {
            later.add(task);
            throw new IllegalStateException("planned");
        }));
        DistributedSemaphore semaphore = client.semaphore(tck.create(1));
        long since = System.nanoTime();
        Permit permit = settled(tck, semaphore.acquireAsync());
        Duration validity = tck.validity(permit.validUntil());
        assertThat(runAll(later)).isTrue();
        Verification found = permit.verify();
        if (found == Verification.LOST) {
            tck.abortIfStoodStill(validity, since);
        }
        assertThat(found).as("a permit whose future was completed twice").isEqualTo(Verification.HELD);
        Queue<PermitLoss> losses = new ConcurrentLinkedQueue<>();
        permit.onLost(losses::add);
        client.abort();
        tck.await("a loss is reported although the executor refuses", () -> !losses.isEmpty());
        assertThat(runAll(later)).isTrue();
        assertThat(losses).as("losses that were reported of one permit").hasSize(1);
    }

    private static DistributedSemaphore calledBackOn(TckFixture tck, Executor executor) {
        return tck.client(ClientSpec.plain().callingBackOn(executor)).semaphore(tck.create(1));
    }

    private static <T> T settled(TckFixture tck, CompletableFuture<T> future) throws Exception {
        return future.get(tck.patience().toNanos(), TimeUnit.NANOSECONDS);
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> RuntimeException unchecked(Throwable thrown) throws E {
        throw (E) thrown;
    }
}
