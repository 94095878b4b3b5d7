package io.github.distributedsemaphore.tck.link;

/**
 * A fault had no effect, so the test that brought it about proves nothing. It is an error of the test or of the harness,
 * not of the adapter, and never a pass.
 */
public final class FaultMissedException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates it.
     *
     * @param message which fault
     */
    public FaultMissedException(String message) {
        super(message);
    }
}
