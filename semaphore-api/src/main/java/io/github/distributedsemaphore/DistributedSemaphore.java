package io.github.distributedsemaphore;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Guarantees;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * At most N holders of a name, across threads, processes and hosts.
 *
 * <pre>{@code
 * DistributedSemaphore exports = client.semaphore("exports");
 * try (Permit permit = exports.acquire(Duration.ofSeconds(30))) {
 *     export(permit.fence());
 * } catch (SemaphoreTimeoutException e) {
 *     answer("too many exports at once, try again later");
 * }
 * }</pre>
 *
 * <p>Thread-safe. Getting one from a {@link SemaphoreClient} does no I/O; the semaphore itself must have been created,
 * see {@link SemaphoreAdmin#create}. Not reentrant: a thread that acquires twice takes two slots.
 *
 * <p>Threads of one client that wait are served first come, first served; a call that does not wait may go ahead of
 * them, as with a fair {@link java.util.concurrent.Semaphore}. Between clients no order is promised unless the backend
 * declares {@link Capability#ARRIVAL_ORDER}.
 *
 * <p>All calls that may wait are interruptible and fit virtual threads. A caller's time is its own: such a call returns within
 * 100 milliseconds of its time limit or of an interrupt, whatever the backend does. What was begun for it is finished in the
 * background, and a permit that was taken goes back. While the backend does not answer, a call that waits goes on within its
 * time, at most for the setting {@code outagePatience} (by default 30 seconds). Then it fails with {@link
 * BackendUnavailableException}, or with {@link OutcomeUnknownException} if its own request was sent. A call that does not wait makes
 * one attempt, does not try again, and ends within the {@linkplain Guarantees#callBound operation bound}. Common to all acquiring
 * methods:
 *
 * <ul>
 *   <li>giving up (time-out, interrupt, cancellation, close) leaves no trace and takes no permit;
 *   <li>{@link NoSuchSemaphoreException} if the semaphore does not exist, or is destroyed during the wait;
 *   <li>{@link BackendUnavailableException}, {@link OutcomeUnknownException}, {@link BackendAccessException} and
 *       {@link IncompatibleStateException} as each of them says: the caller holds nothing then;
 *   <li>{@link SemaphoreClosedException} if the client is closed before or during the call, or {@linkplain
 *       SemaphoreClient#stopAcquiring stops acquiring};
 *   <li>{@link IllegalArgumentException} for a number of permits below one or above the limit.
 * </ul>
 */
public interface DistributedSemaphore {
    /**
     * Returns the name.
     *
     * @return as the application gave it
     */
    String name();

    /**
     * Takes a permit, waiting for it as long as it takes.
     *
     * @return the permit
     * @throws InterruptedException if the thread is interrupted before or while it waits
     */
    @CheckReturnValue
    Permit acquire() throws InterruptedException;

    /**
     * Takes a permit, waiting at most so long.
     *
     * @param maxWait the longest wait; zero or negative is exactly one attempt, as {@link #tryAcquire()}, which an interrupt does not
     *     end once it has begun; a hundred years or more is endless
     * @return the permit
     * @throws InterruptedException if the thread is interrupted before or while it waits
     * @throws SemaphoreTimeoutException if none was free in time
     */
    @CheckReturnValue
    Permit acquire(Duration maxWait) throws InterruptedException;

    /**
     * Takes a permit if one is free: exactly one attempt. Blocks for it at most the
     * {@linkplain Guarantees#callBound operation bound}; not interruptible.
     *
     * @return the permit, or empty if all slots are held
     */
    @CheckReturnValue
    Optional<Permit> tryAcquire();

    /**
     * Takes a permit, waiting at most so long.
     *
     * @param maxWait as for {@link #acquire(Duration)}
     * @return the permit, or empty if none was free in time
     * @throws InterruptedException if the thread is interrupted before or while it waits
     */
    @CheckReturnValue
    Optional<Permit> tryAcquire(Duration maxWait) throws InterruptedException;

    /**
     * Takes several permits together, all or none, waiting as long as it takes. Threads of this client that come later and wait
     * do not overtake it; a call with a time limit has one attempt when that is over, and other clients may overtake it.
     *
     * @param permits how many, from 1 to the limit
     * @return the permits
     * @throws InterruptedException if the thread is interrupted before or while it waits
     */
    @CheckReturnValue
    PermitGroup acquire(int permits) throws InterruptedException;

    /**
     * Takes several permits together, all or none, waiting at most so long.
     *
     * @param permits how many, from 1 to the limit
     * @param maxWait as for {@link #acquire(Duration)}
     * @return the permits
     * @throws InterruptedException if the thread is interrupted before or while it waits
     * @throws SemaphoreTimeoutException if they were not free in time
     */
    @CheckReturnValue
    PermitGroup acquire(int permits, Duration maxWait) throws InterruptedException;

    /**
     * Takes several permits together if so many are free: exactly one attempt, as {@link #tryAcquire()}.
     *
     * @param permits how many, from 1 to the limit
     * @return the permits, or empty if fewer slots are free
     */
    @CheckReturnValue
    Optional<PermitGroup> tryAcquire(int permits);

    /**
     * Takes several permits together, all or none, waiting at most so long.
     *
     * @param permits how many, from 1 to the limit
     * @param maxWait as for {@link #tryAcquire(Duration)}
     * @return the permits, or empty if they were not free in time
     * @throws InterruptedException if the thread is interrupted before or while it waits
     */
    @CheckReturnValue
    Optional<PermitGroup> tryAcquire(int permits, Duration maxWait) throws InterruptedException;

    /**
     * Takes a permit without blocking the caller.
     *
     * @return completes with the permit, or exceptionally as {@link #acquire()} throws. Cancelling it, or completing it by hand,
     *     withdraws the request; a permit that was granted meanwhile goes back. It completes on a thread of the client that nothing
     *     else depends on, so what is chained to it may block. With a {@linkplain SemaphoreClientBuilder#callbackExecutor
     *     callbackExecutor} it completes there, and what blocks holds up what else waits for that executor
     */
    @CheckReturnValue
    CompletableFuture<Permit> acquireAsync();

    /**
     * Takes a permit without blocking the caller, giving up after a while.
     *
     * @param maxWait as for {@link #acquire(Duration)}
     * @return as {@link #acquireAsync()}; fails with {@link SemaphoreTimeoutException} when the time is over
     */
    @CheckReturnValue
    CompletableFuture<Permit> acquireAsync(Duration maxWait);

    /**
     * Takes several permits together, all or none, without blocking the caller.
     *
     * @param permits how many, from 1 to the limit
     * @return as {@link #acquireAsync()}; fails with {@link IllegalArgumentException} if they are more than the limit
     * @throws IllegalArgumentException at once, for a number below one or above {@link Guarantees#maxPermits}
     */
    @CheckReturnValue
    CompletableFuture<PermitGroup> acquireAsync(int permits);

    /**
     * Takes several permits together, all or none, without blocking the caller, giving up after a while.
     *
     * @param permits how many, from 1 to the limit
     * @param maxWait as for {@link #acquire(Duration)}
     * @return as {@link #acquireAsync(Duration)}; fails with {@link IllegalArgumentException} if they are more than the limit
     * @throws IllegalArgumentException at once, for a number below one or above {@link Guarantees#maxPermits}
     */
    @CheckReturnValue
    CompletableFuture<PermitGroup> acquireAsync(int permits, Duration maxWait);

    /**
     * Asks the backend how many slots are free. The answer may be old when it arrives: to take a permit, try. Blocks
     * for at most the {@linkplain Guarantees#callBound operation bound}; not interruptible.
     *
     * @return from 0 to the limit
     * @throws NoSuchSemaphoreException if the semaphore does not exist
     * @throws SemaphoreClosedException if the client is closed
     * @throws SemaphoreException another leaf for what else the backend may say: it is away, or refuses it
     */
    int availablePermits();

    /**
     * Counts what this client did at the semaphore. No I/O, does not block; works after the client was closed too.
     *
     * @return a snapshot
     */
    SemaphoreStatistics statistics();

    /**
     * Runs a task under a permit and releases the permit afterwards, however the task ends. An exception of the task is
     * passed on as it is; a release that cannot be confirmed is logged, not thrown.
     *
     * @param maxWait as for {@link #acquire(Duration)}
     * @param task runs on the calling thread
     * @param <T> what the task returns
     * @param <X> what the task throws
     * @return what the task returned
     * @throws InterruptedException if the thread is interrupted before or while it waits for the permit
     * @throws SemaphoreTimeoutException if no permit was free in time; the task did not run
     * @throws X if the task fails
     */
    default <T, X extends Exception> T withPermit(Duration maxWait, PermitFunction<? extends T, X> task)
            throws InterruptedException, X {
        try (Permit permit = acquire(maxWait)) {
            return task.apply(permit);
        }
    }

    /**
     * Runs a task without a result under a permit, as {@link #withPermit}.
     *
     * @param maxWait as for {@link #acquire(Duration)}
     * @param task runs on the calling thread
     * @param <X> what the task throws
     * @throws InterruptedException if the thread is interrupted before or while it waits for the permit
     * @throws SemaphoreTimeoutException if no permit was free in time; the task did not run
     * @throws X if the task fails
     */
    default <X extends Exception> void runWithPermit(Duration maxWait, PermitTask<X> task)
            throws InterruptedException, X {
        try (Permit permit = acquire(maxWait)) {
            task.run(permit);
        }
    }

    /**
     * Runs a task under a permit if one is free in time, and otherwise does without.
     *
     * <pre>{@code
     * if (!exports.tryRunWithPermit(Duration.ZERO, permit -> export())) {
     *     log.info("enough exports are running already");
     * }
     * }</pre>
     *
     * @param maxWait as for {@link #tryAcquire(Duration)}; zero is one attempt
     * @param task runs on the calling thread
     * @param <X> what the task throws
     * @return whether the task ran; if not, no permit was free in time
     * @throws InterruptedException if the thread is interrupted before or while it waits for the permit
     * @throws X if the task fails
     */
    default <X extends Exception> boolean tryRunWithPermit(Duration maxWait, PermitTask<X> task)
            throws InterruptedException, X {
        Optional<Permit> acquired = tryAcquire(maxWait);
        if (acquired.isEmpty()) {
            return false;
        }
        try (Permit permit = acquired.get()) {
            task.run(permit);
        }
        return true;
    }

    /**
     * Starts a task under a permit without blocking the caller, and releases the permit when the stage that the task returns
     * completes.
     *
     * <pre>{@code
     * exports.withPermitAsync(Duration.ofMinutes(1), permit -> http.sendAsync(request, ofString()))
     *         .thenAccept(answer -> store(answer.body()));
     * }</pre>
     *
     * @param maxWait as for {@link #acquire(Duration)}
     * @param task called on a thread as for {@link #acquireAsync()}
     * @param <T> what the stage completes with
     * @return completes with what the stage completes with, after the permit was released, on such a thread too. It fails as {@link
     *     #acquireAsync(Duration)} does, and then the task was not called. It fails with what the task throws. A release that
     *     cannot be confirmed is logged. Cancelling it withdraws the request for a permit. A task that was called already goes on
     *     and keeps its permit until its stage completes
     */
    <T> CompletableFuture<T> withPermitAsync(
            Duration maxWait, Function<? super Permit, ? extends CompletionStage<T>> task);
}
