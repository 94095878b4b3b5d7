package io.github.distributedsemaphore;

/** No permit could be had within the time that the caller gave. The caller holds nothing through the call.
 */
public final class SemaphoreTimeoutException extends SemaphoreException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates it.
     *
     * @param message what happened to which semaphore, and what to do
     */
    public SemaphoreTimeoutException(String message) {
        super(message, null);
    }

    @Override
    public boolean isRetryable() {
        return true;
    }
}
