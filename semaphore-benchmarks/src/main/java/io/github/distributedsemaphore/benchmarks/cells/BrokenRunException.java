package io.github.distributedsemaphore.benchmarks.cells;

/** A run whose figures mean nothing: a promise was broken under measurement, or a part of it failed. */
public final class BrokenRunException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public BrokenRunException(String message) {
        super(message);
    }

    public BrokenRunException(String message, Throwable cause) {
        super(message + ": " + cause, cause);
    }
}
