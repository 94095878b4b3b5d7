package io.github.distributedsemaphore.spi.support;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.BackendSession;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A store that can compare and set, such as a table, a key-value store or a document store. {@link CasBackend} makes a
 * semaphore backend of it: an adapter writes three calls, and a fourth one if the store can tell about changes.
 *
 * <p>Thread-safe. Each call blocks, is one request if the store allows it, and ends at its deadline whatever the store does.
 * No lock at the server outlives a call. All calls may throw {@link io.github.distributedsemaphore.BackendAccessException} and
 * {@link io.github.distributedsemaphore.BackendUnavailableException}; both say that nothing was changed.
 */
public interface CasStore extends AutoCloseable {
    /**
     * What is stored under a name.
     *
     * @param value the text, printable ASCII and line feeds; empty if nothing is stored
     * @param version 0 if nothing is stored; else a number that the store never gives to another content of this name, also
     *     not after the name was removed
     * @param clockMillis the store's wall clock when it answered, in milliseconds since 1970
     */
    record Entry(String value, long version, long clockMillis) {}

    /**
     * A change that is wanted.
     *
     * @param name the name
     * @param expected the version that is to be replaced; 0 to write a name under which nothing is stored
     * @param value the new text, printable ASCII and line feeds; empty to remove the name
     * @param hint to be passed to all that {@linkplain #watch watch} this name if the change is made, at most 500 characters of
     *     printable ASCII; nothing is passed if it is empty. A store without hints ignores it
     */
    record Change(String name, long expected, String value, String hint) {}

    /** The hint that concerns every waiting client. After a lost connection a store passes it, because hints may have been lost. */
    String EVERYBODY = "*";

    /**
     * What became of a change.
     *
     * @param done whether it was made
     * @param now what is stored after it if it was made, with its new version; else what is stored instead, as by a read that began
     *     after the change was refused
     */
    record Written(boolean done, Entry now) {}

    /**
     * Reads a name, past every cache and from the server that accepts writes.
     *
     * @param name the name, any text without unpaired surrogates
     * @param end when the call ends at the latest
     * @return what is stored
     */
    Entry read(String name, Deadline end);

    /**
     * Makes a change if the name still has the expected version. What was written survives a restart of the store if {@link
     * io.github.distributedsemaphore.guarantees.Capability#DURABLE_STATE} is declared.
     *
     * @param change the change
     * @param end when the call ends at the latest
     * @return what became of it
     * @throws io.github.distributedsemaphore.OutcomeUnknownException if it may have been made, or may still be made
     */
    Written write(Change change, Deadline end);

    /**
     * Lists what is stored.
     *
     * @param end when the call ends at the latest
     * @return the entries by name
     */
    Map<String, Entry> list(Deadline end);

    /**
     * Watches a name. The default says that the store has no hints; {@link CasBackend} then polls for waiting callers.
     *
     * @param name the name
     * @param hint gets the {@link Change#hint} of each change that any client makes; from any thread; returns at once
     * @return ends the watch; null if the store has no hints
     */
    default BackendSession.@Nullable Watch watch(String name, Consumer<String> hint) {
        return null;
    }

    /** Ends connections and threads. Does not throw. */
    @Override
    void close();
}
