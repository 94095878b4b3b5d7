package io.github.distributedsemaphore.redis;

import org.jspecify.annotations.Nullable;

/** A connection did not bring the replies. Does not leave the adapter: {@link RedisFailures} says it in our words. */
class WireException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Whether a transaction may have been done. */
    private final boolean open;

    WireException(String message, @Nullable Throwable cause, boolean open) {
        super(message, cause);
        this.open = open;
    }

    boolean isOutcomeOpen() {
        return open;
    }
}
