package io.github.distributedsemaphore;

import org.jspecify.annotations.Nullable;

/**
 * The call was sent and its answer was not received in time: it may or may not have had its effect. The caller of an
 * acquire holds nothing through it: the client finds out and gives back what was taken, at the latest within the detection
 * bound. After a release the permit counts as released here, and the client goes on trying: there is nothing to repeat. An
 * administrative call may be repeated.
 */
public final class OutcomeUnknownException extends SemaphoreException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates it.
     *
     * @param message what happened to which semaphore or backend, and what to do
     * @param cause what the client library said; null if nothing
     */
    public OutcomeUnknownException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /**
     * Creates it for a semaphore.
     *
     * @param message what happened to which semaphore, and what to do
     * @param cause what the client library said; null if nothing
     * @param semaphore the name of the semaphore; null if it is about none
     */
    public OutcomeUnknownException(String message, @Nullable Throwable cause, @Nullable String semaphore) {
        super(message, cause, semaphore);
    }

    @Override
    public boolean isRetryable() {
        return true;
    }

    @Override
    SemaphoreException copy(String message) {
        return new OutcomeUnknownException(message, this);
    }
}
