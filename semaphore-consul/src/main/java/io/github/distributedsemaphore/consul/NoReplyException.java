package io.github.distributedsemaphore.consul;

import org.jspecify.annotations.Nullable;

/** A request got no answer. */
final class NoReplyException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Whether the server has certainly not seen the request. */
    private final boolean unsent;

    NoReplyException(String message, boolean unsent, @Nullable Throwable cause) {
        super(message, cause);
        this.unsent = unsent;
    }

    boolean isUnsent() {
        return unsent;
    }
}
