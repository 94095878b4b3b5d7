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

    @Override
    public boolean isRetryable() {
        return true;
    }

    @Override
    SemaphoreException copy(String message) {
        return new BackendUnavailableException(message, this);
    }
}
