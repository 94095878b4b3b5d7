package io.github.distributedsemaphore.rabbitmq;

import org.jspecify.annotations.Nullable;

/** Queues could not be probed by publishing: the broker takes no messages now, or did not confirm them in time. */
final class ProbeFailedException extends Exception {
    private static final long serialVersionUID = 1L;

    ProbeFailedException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
