package io.github.distributedsemaphore;

import org.jspecify.annotations.Nullable;

/**
 * What is stored under the name is not a semaphore of this library, or is damaged, or is of a format this version does not
 * know. Nothing was overwritten. The message names what was found, what was expected and the repair.
 */
public final class IncompatibleStateException extends SemaphoreException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates it.
     *
     * @param message what happened to which semaphore or backend, and what to do
     * @param cause what the client library said; null if nothing
     */
    public IncompatibleStateException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /**
     * Creates it for a semaphore.
     *
     * @param message what happened to which semaphore, and what to do
     * @param cause what the client library said; null if nothing
     * @param semaphore the name of the semaphore; null if it is about none
     */
    public IncompatibleStateException(String message, @Nullable Throwable cause, @Nullable String semaphore) {
        super(message, cause, semaphore);
    }

    @Override
    public boolean isRetryable() {
        return false;
    }

    @Override
    SemaphoreException copy(String message) {
        return new IncompatibleStateException(message, this);
    }
}
