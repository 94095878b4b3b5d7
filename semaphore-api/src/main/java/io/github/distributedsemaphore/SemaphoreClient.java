package io.github.distributedsemaphore;

import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.time.Duration;

/**
 * An application's connection to one backend, and the owner of every permit acquired through it.
 *
 * <pre>{@code
 * try (SemaphoreClient client = SemaphoreClient.connect("redis://cache.example.org")) {
 *     client.admin().ensure("exports", 3);
 *     DistributedSemaphore exports = client.semaphore("exports");
 *     exports.runWithPermit(Duration.ofMinutes(1), permit -> export());
 * }
 * }</pre>
 *
 * <p>Thread-safe; an application needs one per backend and shares it. Closing it returns all its permits and ends its
 * waiters.
 */
public interface SemaphoreClient extends AutoCloseable {
    /**
     * Makes a client of a backend with default settings, or those in the URI. Asks no server: connections are made when they are
     * needed first, and {@link #ping} finds out whether the backend is there. Reads the files that settings name. Over {@code
     * local:} it makes and checks the directory.
     *
     * @param uri such as {@code local:} or {@code redis://host:6379?detection=10s}; the README lists the usual forms, the page of each
     *     backend the others
     * @return the client
     * @throws IllegalArgumentException if the URI or a setting in it is wrong, or no module for its scheme is on the path;
     *     the message says which to add
     * @throws BackendAccessException over {@code local:}, if the directory belongs to somebody else, others may write it, or this user may not
     *     make it
     * @throws IncompatibleStateException over {@code local:}, if there is a file in place of the directory
     * @throws BackendUnavailableException over {@code local:}, if the directory cannot be made or looked at, as on a disk that is full or
     *     read-only
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
     * Says what the backend promises under the client's settings. No I/O. Over Redis, {@link
     * io.github.distributedsemaphore.guarantees.Capability#DURABLE_STATE} depends on the server and is known after the first
     * call, such as {@link #ping}.
     *
     * @return the guarantees
     */
    Guarantees guarantees();

    /**
     * Asks the backend whether it is there, by one cheap round trip, for instance for a health check. Returns within 100 ms of the
     * end of its time or of an interrupt, whatever the backend does.
     *
     * @param maxWait the longest wait for the answer, more than zero
     * @throws InterruptedException if the thread is interrupted before or while it waits
     * @throws BackendUnavailableException if the backend did not answer in time, or cannot be reached
     * @throws BackendAccessException if it refuses the credentials
     * @throws SemaphoreClosedException if the client is closed
     * @throws IllegalArgumentException if the wait is zero or negative
     */
    void ping(Duration maxWait) throws InterruptedException;

    /**
     * Adds a listener. It is called with what happens at all semaphores of this client from now on.
     *
     * @param listener called until it is removed; adding it twice has it called twice
     */
    void addListener(SemaphoreListener listener);

    /**
     * Removes a listener. It may still be called for what has happened already.
     *
     * @param listener one that was added; others change nothing
     */
    void removeListener(SemaphoreListener listener);

    /**
     * Takes no more permits through this client: the first step of a shutdown in which work that has begun still finishes. Ends
     * all waiters with {@link SemaphoreClosedException} and refuses new acquires with it. Permits that are held stay held,
     * are renewed and can be released, and the administration goes on working. Does not block; idempotent; cannot be undone.
     */
    void stopAcquiring();

    /**
     * Returns all permits to the backend, ends all waiters with {@link SemaphoreClosedException}, and ends the client's
     * threads and connections. Blocks for at most a few {@linkplain Guarantees#callBound operation bounds}; what could not
     * be returned is free within the detection bound. Idempotent, never throws. A second call that comes while the first is
     * under way returns when the first is done; an interrupt neither ends the wait nor is swallowed.
     */
    @Override
    void close();

    /**
     * Ends the client without a word to the backend, as if the process had died: permits count as lost, their slots are
     * free within the detection bound. For shutting down when the backend must not be waited for. Idempotent, never throws.
     * Does nothing during or after a {@link #close}.
     */
    void abort();
}
