package io.github.distributedsemaphore;

import io.github.distributedsemaphore.spi.SemaphoreBackend;

/**
 * An application's connection to one backend, and the owner of every permit acquired through it.
 *
 * <p>Thread-safe; an application needs one per backend and shares it. Closing it returns all its permits and ends its
 * waiters.
 */
public interface SemaphoreClient extends AutoCloseable {
    /**
     * Connects to a backend with default settings, or those in the URI.
     *
     * @param uri such as {@code local:} or {@code redis://host:6379?detection=10s}; the README lists the forms
     * @return the client
     * @throws IllegalArgumentException if the URI or a setting in it is wrong, or no module for its scheme is on the path;
     *     the message says which to add
     * @throws BackendUnavailableException if the backend does not answer
     * @throws BackendAccessException if it refuses the credentials
     */
    static SemaphoreClient connect(String uri) {
        return builder(uri).connect();
    }

    /**
     * Starts a client with settings.
     *
     * @param uri as for {@link #connect}
     * @return a builder
     */
    static SemaphoreClientBuilder builder(String uri) {
        return new SemaphoreClientBuilder(uri);
    }

    /**
     * Starts a client over a backend that the application made itself.
     *
     * @param backend the backend; the client owns it from now on and closes it
     * @return a builder, for the settings that do not concern the backend
     */
    static SemaphoreClientBuilder builder(SemaphoreBackend backend) {
        return new SemaphoreClientBuilder(backend);
    }

    /**
     * Returns a semaphore. No I/O: whether it exists shows at its first use.
     *
     * @param name its name: any Unicode text that is not blank, in UTF-8 not longer than {@link Guarantees#maxNameBytes};
     *     case and every character count
     * @return the semaphore, the same for the same name
     * @throws IllegalArgumentException if the name is not such
     * @throws SemaphoreClosedException if the client is closed
     */
    DistributedSemaphore semaphore(String name);

    /**
     * Returns the administration of the backend's semaphores.
     *
     * @return usable until close
     */
    SemaphoreAdmin admin();

    /**
     * Says what the backend promises under the client's settings.
     *
     * @return the guarantees
     */
    Guarantees guarantees();

    /**
     * Returns all permits to the backend, ends all waiters with {@link SemaphoreClosedException}, and ends the client's
     * threads and connections. Blocks for at most a few {@linkplain Guarantees#operation operation bounds}; what could not
     * be returned is free within the detection bound. Idempotent, never throws.
     */
    @Override
    void close();

    /**
     * Ends the client without a word to the backend, as if the process had died: permits count as lost, their slots are
     * free within the detection bound. For shutting down when the backend must not be waited for. Idempotent.
     */
    void abort();
}
