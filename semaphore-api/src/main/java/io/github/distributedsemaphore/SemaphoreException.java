package io.github.distributedsemaphore;

import org.jspecify.annotations.Nullable;

/**
 * The root of what a semaphore may throw besides bad arguments. Unchecked; the leaves are closed, each says what the
 * caller may assume, and every message names the semaphore or the backend it is about. None holds a credential.
 */
public abstract sealed class SemaphoreException extends RuntimeException
        permits BackendUnavailableException,
                OutcomeUnknownException,
                BackendAccessException,
                IncompatibleStateException,
                NoSuchSemaphoreException,
                LimitConflictException,
                SemaphoreTimeoutException,
                SemaphoreClosedException {
    private static final long serialVersionUID = 1L;

    SemaphoreException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /**
     * Tells whether the same call may succeed later without anybody repairing anything.
     *
     * @return true if trying again makes sense
     */
    public abstract boolean isRetryable();
}
