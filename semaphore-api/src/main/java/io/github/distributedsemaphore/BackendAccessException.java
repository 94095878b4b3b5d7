package io.github.distributedsemaphore;

import org.jspecify.annotations.Nullable;

/**
 * The backend refused the credentials, or they lack a right. Nothing was changed. Trying again does not help before
 * somebody grants what the message names.
 */
public final class BackendAccessException extends SemaphoreException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates it.
     *
     * @param message what happened to which semaphore or backend, and what to do
     * @param cause what the client library said; null if nothing
     */
    public BackendAccessException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /**
     * Creates it for a semaphore.
     *
     * @param message what happened to which semaphore, and what to do
     * @param cause what the client library said; null if nothing
     * @param semaphore the name of the semaphore; null if it is about none
     */
    public BackendAccessException(String message, @Nullable Throwable cause, @Nullable String semaphore) {
        super(message, cause, semaphore);
    }

    @Override
    public boolean isRetryable() {
        return false;
    }

    @Override
    SemaphoreException copy(String message) {
        return new BackendAccessException(message, this);
    }
}
