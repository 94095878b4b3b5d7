package io.github.distributedsemaphore.redis;

/**
 * The server says that what was asked is another one's to answer: certainly nothing was done, and a new connection goes where
 * it is to be done.
 */
final class MovedException extends WireException {
    private static final long serialVersionUID = 1L;

    MovedException(String message) {
        super(message, null, false);
    }
}
