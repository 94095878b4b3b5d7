package io.github.distributedsemaphore;

/**
 * A task that runs while a permit is held.
 *
 * @param <T> what it returns
 * @param <X> the checked exception it may throw; {@code RuntimeException} if none
 */
@FunctionalInterface
public interface PermitFunction<T, X extends Exception> {
    /**
     * Runs the task.
     *
     * @param permit the permit that is held meanwhile; the caller releases it afterwards
     * @return the result
     * @throws X if the task fails
     */
    T apply(Permit permit) throws X;
}
