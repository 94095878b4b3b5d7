package io.github.distributedsemaphore.redis.net;

/** The server answered a command with an error. Does not leave the adapter: {@link RedisFailures} says it in our words. */
public final class RedisErrorException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public RedisErrorException(String message) {
        super(message);
    }

    String error() {
        return String.valueOf(getMessage());
    }
}
