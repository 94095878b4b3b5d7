package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.SemaphoreException;

/**
 * The work, and what a worker wants to hear of the lock meanwhile. Everything is called by the thread that called {@link
 * RedisWorkLock#run}; what a method throws ends the run and reaches its caller. Only {@link #status} and {@link #error} of a
 * {@link WorkAttempt#done()} are called by the thread that called that, and what they throw reaches its caller; if that is
 * another thread, they may come while the run calls something else, or after its end. If only the work matters, this is a
 * lambda.
 *
 * @param <E> the checked exception that the work may throw; {@code RuntimeException} if none
 */
@FunctionalInterface
public interface WorkLockListener<E extends Exception> {
    /**
     * Does the job. Called at most once in a run, when the lock is this worker's. Call {@link WorkAttempt#done()} when the
     * job is finished; to return or throw without it leaves the job to the other workers. Nobody interrupts this method
     * when the lock timeout passes, see {@link WorkAttempt#remaining()}.
     *
     * @param attempt which attempt this is, whether it is the last one, and where to record the end
     * @throws E if the work fails
     */
    void acquired(WorkAttempt attempt) throws E;

    /** The lock is another worker's, or another one was faster to take it over. This worker waits behind it. */
    default void locked() {}

    /** All attempts are used up; the run is about to end with {@link WorkOutcome#EXHAUSTED}. */
    default void maxAttempts() {}

    /**
     * Something happened that people may want to read.
     *
     * @param message for people, its wording may change
     */
    default void status(String message) {}

    /**
     * The server could not be asked, or its answer was lost, and the worker tries again by itself.
     *
     * @param failure what went wrong
     */
    default void error(SemaphoreException failure) {}
}
