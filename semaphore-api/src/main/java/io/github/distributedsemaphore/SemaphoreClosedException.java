package io.github.distributedsemaphore;

/** The client was closed before or during the call. The caller holds nothing through it.
 */
public final class SemaphoreClosedException extends SemaphoreException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates it.
     *
     * @param message what happened to which semaphore, and what to do
     */
    public SemaphoreClosedException(String message) {
        super(message, null);
    }

    @Override
    public boolean isRetryable() {
        return false;
    }
}
