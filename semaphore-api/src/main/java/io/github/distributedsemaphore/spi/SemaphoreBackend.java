package io.github.distributedsemaphore.spi;

import io.github.distributedsemaphore.guarantees.Guarantees;
import java.time.Duration;

/**
 * The driven port: what an adapter supplies. One per client; holds whatever connections the sessions share.
 *
 * <p>Everything that is the same for all backends (waiting, time-outs, interrupts, order among local threads, batching,
 * local hand-off, renewal in time, loss and its listeners) is the engine's. An adapter knows its protocol and nothing
 * else: it does not wait for permits, keeps no caller and runs no user code. It may throw {@link
 * io.github.distributedsemaphore.BackendUnavailableException} from every method but {@link #guarantees} and {@link
 * #close}, and then goes on working once the backend answers again.
 *
 * <p>Thread-safe.
 */
public interface SemaphoreBackend extends AutoCloseable {
    /**
     * Says what this backend promises under its present settings. No I/O.
     *
     * @return the guarantees; the bound of local hand-off is the engine's and is left zero
     */
    Guarantees guarantees();

    /**
     * Opens a presence at a semaphore; does not create it, and does not look whether it exists. No I/O: connections are made
     * by the first exchange. At most one session per name is open at a time.
     *
     * @param name the semaphore; checked against {@link Guarantees#maxNameBytes}
     * @param listener is notified when holds or the session are lost
     * @return the session
     */
    BackendSession open(String name, SessionListener listener);

    /**
     * Returns for how long a slot passes from thread to thread of one client before other clients get a turn, unless the client sets
     * {@code handOffTime}. The default, 10 ms, suits a server that answers within a millisecond. A backend on which the way of a slot
     * from client to client takes longer gives more, or its slots are on their way most of the time.
     *
     * @return from zero to 10 s
     */
    default Duration handOffTime() {
        return Duration.ofMillis(10);
    }

    /**
     * Asks the backend whether it is there, by one cheap round trip. The default describes a semaphore that hardly exists.
     *
     * @throws io.github.distributedsemaphore.BackendUnavailableException if it does not answer
     */
    default void ping() {
        admin().describe("ping");
    }

    /**
     * Returns the administration.
     *
     * @return the same each time; usable until close
     */
    BackendAdmin admin();

    /** Ends everything: connections, threads, files. All sessions were closed or aborted before. Does not throw. */
    @Override
    void close();

    /**
     * Ends everything as {@link #close} does, for a client that is aborted: waits for no answer of the backend. To be overridden
     * where {@link #close} does wait for one. Does not throw.
     */
    default void abort() {
        close();
    }
}
