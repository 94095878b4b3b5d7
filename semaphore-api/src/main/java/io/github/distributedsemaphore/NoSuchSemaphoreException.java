package io.github.distributedsemaphore;

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
        super(message, null);
    }

    @Override
    public boolean isRetryable() {
        return false;
    }
}
