package io.github.distributedsemaphore;

import org.jspecify.annotations.Nullable;

/**
 * There is no semaphore of this name; or it was destroyed while the caller waited. The caller holds nothing through the
 * call.
 */
public final class NoSuchSemaphoreException extends SemaphoreException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates it.
     *
     * @param message what happened to which semaphore, and what to do
     */
    public NoSuchSemaphoreException(String message) {
        this(message, (String) null);
    }

    /**
     * Creates it for a semaphore.
     *
     * @param message what happened to which semaphore, and what to do
     * @param semaphore the name of the semaphore; null if it is about none
     */
    public NoSuchSemaphoreException(String message, @Nullable String semaphore) {
        super(message, null, semaphore);
    }

    private NoSuchSemaphoreException(String message, Throwable cause) {
        super(message, cause);
    }

    @Override
    public boolean isRetryable() {
        return false;
    }

    @Override
    SemaphoreException copy(String message) {
        return new NoSuchSemaphoreException(message, this);
    }
}
