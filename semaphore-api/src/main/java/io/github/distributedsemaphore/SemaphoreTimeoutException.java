package io.github.distributedsemaphore;

import org.jspecify.annotations.Nullable;

/** No permit was free within the time that the caller gave. The caller holds nothing through the call. */
public final class SemaphoreTimeoutException extends SemaphoreException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates it.
     *
     * @param message what happened to which semaphore, and what to do
     */
    public SemaphoreTimeoutException(String message) {
        this(message, (String) null);
    }

    /**
     * Creates it for a semaphore.
     *
     * @param message what happened to which semaphore, and what to do
     * @param semaphore the name of the semaphore; null if it is about none
     */
    public SemaphoreTimeoutException(String message, @Nullable String semaphore) {
        super(message, null, semaphore);
    }

    private SemaphoreTimeoutException(String message, Throwable cause) {
        super(message, cause);
    }

    @Override
    public boolean isRetryable() {
        return true;
    }

    @Override
    SemaphoreException copy(String message) {
        return new SemaphoreTimeoutException(message, this);
    }
}
