package io.github.distributedsemaphore.redis.net;

import org.jspecify.annotations.Nullable;

/** A connection did not bring the replies. Does not leave the adapter: {@link RedisFailures} says it in our words. */
public class WireException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Whether a transaction may have been done. */
    private final boolean open;

    public WireException(String message, @Nullable Throwable cause, boolean open) {
        super(message, cause);
        this.open = open;
    }

    public boolean isOutcomeOpen() {
        return open;
    }

    /**
     * The server says that what was asked is another one's to answer: certainly nothing was done, and a new connection goes where
     * it is to be done.
     */
    public static final class MovedException extends WireException {
        private static final long serialVersionUID = 1L;

        public MovedException(String message) {
            super(message, null, false);
        }
    }
}
