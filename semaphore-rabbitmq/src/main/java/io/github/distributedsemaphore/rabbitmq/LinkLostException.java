package io.github.distributedsemaphore.rabbitmq;

/** A connection is gone or was dropped, and with it every exclusive queue that it had declared. */
final class LinkLostException extends Exception {
    private static final long serialVersionUID = 1L;

    LinkLostException(String message, Throwable cause) {
        super(message, cause);
    }
}
