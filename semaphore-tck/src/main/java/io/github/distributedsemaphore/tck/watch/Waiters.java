package io.github.distributedsemaphore.tck.watch;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.run.Pause;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/** Threads and futures that wait for permits, and whether they are served in time. */
public final class Waiters {
    /** What takes longer than this to be detected does not hide a lost hint. */
    private static final Duration LONG_DETECTION = Duration.ofSeconds(10);

    private static final Duration LONGER_THAN_ANY_TEST = Duration.ofDays(1);

    private Waiters() {}

    /**
     * A client that learns of a release by a hint or, by its own timer, long after every bound: that a hint was lost shows. Long
     * leases, because waiters ask again when one of them may have ended.
     */
    public static ClientSpec hinted(TckFixture tck) {
        return lasting(tck).with("recheck", "1m");
    }

    /** A client that hands a permit which is released on to its next waiter, also a while after the grant. */
    public static ClientSpec handingOn(TckFixture tck) {
        return lasting(tck).with("handOffTime", "10s");
    }

    /** A client whose permits outlast the pauses of a busy machine, where that can be had. */
    public static ClientSpec lasting(TckFixture tck) {
        boolean isShort = tck.guarantees().detectionMax().compareTo(LONG_DETECTION) < 0;
        return isShort && tck.harness().agents().isPresent()
                ? ClientSpec.plain().with("detection", "1m")
                : ClientSpec.plain();
    }

    /** Starts a thread that acquires, and returns when it waits. */
    public static Task<Permit> blocked(TckFixture tck, String what, DistributedSemaphore semaphore) {
        Task<Permit> waiter = tck.spawn(what, () -> semaphore.acquire(tck.patience()));
        waiter.awaitBlocked();
        return waiter;
    }

    /** Returns the permit of a waiter that must be served within the declared wake-up time. */
    public static Permit served(TckFixture tck, Task<Permit> waiter, long since, String otherwise) throws Exception {
        while (!waiter.isDone()) {
            assertInTime(tck, since, otherwise);
            Pause.millis(1);
        }
        Permit permit = waiter.result();
        tck.measure(Bound.WAKE_UP, Math.max(0, waiter.endedAt() - since));
        return permit;
    }

    /** Returns the waiter that is served first; one must be within the declared wake-up time. */
    public static Task<Permit> first(TckFixture tck, long since, String otherwise, List<Task<Permit>> waiters) {
        while (true) {
            for (Task<Permit> waiter : waiters) {
                if (waiter.isDone()) {
                    tck.measure(Bound.WAKE_UP, Math.max(0, waiter.endedAt() - since));
                    return waiter;
                }
            }
            assertInTime(tck, since, otherwise);
            Pause.millis(1);
        }
    }

    private static void assertInTime(TckFixture tck, long since, String otherwise) {
        Duration bound = tck.guarantees().wakeUpBound();
        if (tck.isOver(bound, since)) {
            throw new AssertionError(otherwise + " (not served within " + tck.scaled(bound) + ")");
        }
    }

    /** Returns a permit that must be granted within the declared wake-up time. */
    public static Permit soon(TckFixture tck, DistributedSemaphore semaphore, String otherwise) throws Exception {
        long since = System.nanoTime();
        Permit permit = semaphore.tryAcquire(tck.patience()).orElseThrow(() -> new AssertionError(otherwise));
        assertInTime(tck, since, otherwise);
        return permit;
    }

    /** Returns the permit of a future that must be served within the declared wake-up time. */
    public static Permit served(TckFixture tck, CompletableFuture<Permit> waiter, String otherwise) throws Exception {
        long since = System.nanoTime();
        while (!waiter.isDone()) {
            assertInTime(tck, since, otherwise);
            Pause.millis(1);
        }
        tck.measure(Bound.WAKE_UP, System.nanoTime() - since);
        try {
            return waiter.get();
        } catch (ExecutionException e) {
            throw new AssertionError(otherwise + " (failed: " + e.getCause() + ")", e);
        }
    }

    /** Waits for a future, as a call that blocks would. */
    public static <T> T joined(CompletableFuture<T> future) throws Exception {
        return joined(future, LONGER_THAN_ANY_TEST);
    }

    /** The same, for a limited time. */
    public static <T> T joined(CompletableFuture<T> future, Duration patience) throws Exception {
        try {
            return future.get(patience.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }
}
