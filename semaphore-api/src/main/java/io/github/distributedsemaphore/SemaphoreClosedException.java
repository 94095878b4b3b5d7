package io.github.distributedsemaphore;

import org.jspecify.annotations.Nullable;

/**
 * The client was closed before or during the call, or takes no more permits since {@link SemaphoreClient#stopAcquiring}. The
 * caller holds nothing through it.
 */
public final class SemaphoreClosedException extends SemaphoreException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates it.
     *
     * @param message what happened to which semaphore, and what to do
     */
    public SemaphoreClosedException(String message) {
        this(message, (String) null);
    }

    /**
     * Creates it for a semaphore.
     *
     * @param message what happened to which semaphore, and what to do
     * @param semaphore the name of the semaphore; null if it is about none
     */
    public SemaphoreClosedException(String message, @Nullable String semaphore) {
        super(message, null, semaphore);
    }

    private SemaphoreClosedException(String message, Throwable cause) {
        super(message, cause);
    }

    @Override
    public boolean isRetryable() {
        return false;
    }

    @Override
    SemaphoreException copy(String message) {
        return new SemaphoreClosedException(message, this);
    }
}
