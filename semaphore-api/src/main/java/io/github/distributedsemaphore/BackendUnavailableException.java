package io.github.distributedsemaphore;

import org.jspecify.annotations.Nullable;

/**
 * The backend could not be reached or did not answer, and it is certain that the call changed nothing. The caller holds
 * nothing through it; trying again makes sense.
 */
public final class BackendUnavailableException extends SemaphoreException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates it.
     *
     * @param message what happened to which semaphore or backend, and what to do
     * @param cause what the client library said; null if nothing
     */
    public BackendUnavailableException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /**
     * Creates it for a semaphore.
     *
     * @param message what happened to which semaphore, and what to do
     * @param cause what the client library said; null if nothing
     * @param semaphore the name of the semaphore; null if it is about none
     */
    public BackendUnavailableException(String message, @Nullable Throwable cause, @Nullable String semaphore) {
        super(message, cause, semaphore);
    }

    @Override
    public boolean isRetryable() {
        return true;
    }

    @Override
    SemaphoreException copy(String message) {
        return new BackendUnavailableException(message, this);
    }
}
