package io.github.distributedsemaphore.benchmarks;

/** A run whose figures mean nothing: a promise was broken under measurement, or a part of it failed. */
final class BrokenRunException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    BrokenRunException(String message) {
        super(message);
    }

    BrokenRunException(String message, Throwable cause) {
        super(message + ": " + cause, cause);
    }
}
