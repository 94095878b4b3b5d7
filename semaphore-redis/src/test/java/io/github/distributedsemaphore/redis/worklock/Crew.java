package io.github.distributedsemaphore.redis.worklock;

/** Workers, one for each key, that can be killed. */
interface Crew extends AutoCloseable {
    /** Hears what a worker tells. */
    interface Told {
        void line(String key, String line);
    }

    void hire(String key, int maxAttempts);

    void say(String key, String word);

    /** Ends all of them at one blow, as {@code kill -9} does, and returns when they are gone. */
    void kill();

    @Override
    default void close() {
        kill();
    }
}
