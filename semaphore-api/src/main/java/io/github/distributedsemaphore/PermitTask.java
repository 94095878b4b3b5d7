package io.github.distributedsemaphore;

/**
 * A task without a result that runs while a permit is held.
 *
 * @param <X> the checked exception it may throw; {@code RuntimeException} if none
 */
@FunctionalInterface
public interface PermitTask<X extends Exception> {
    /**
     * Runs the task.
     *
     * @param permit the permit that is held meanwhile; the caller releases it afterwards
     * @throws X if the task fails
     */
    void run(Permit permit) throws X;
}
