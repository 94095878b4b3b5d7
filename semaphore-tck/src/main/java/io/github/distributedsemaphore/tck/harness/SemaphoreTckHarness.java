package io.github.distributedsemaphore.tck.harness;

import io.github.distributedsemaphore.SemaphoreClient;
import java.util.Map;
import java.util.Optional;

/**
 * What the author of an adapter writes so that the kit can test it. {@link UriHarness} does most of it for a backend that
 * is reached by a URI; a backend inside the process supplies clients itself.
 *
 * <p>What the backend promises is not said here: the kit asks {@link SemaphoreClient#guarantees}, shows each capability
 * that is declared and the absence of each that is not. A rule whose capability is declared but whose hook is missing
 * here fails: what cannot be shown may not be claimed.
 *
 * <p>Called from several threads, but for {@link #close}.
 */
public interface SemaphoreTckHarness extends AutoCloseable {
    /**
     * Connects a new client, independent of all others: with its own connections and its own identity.
     *
     * @param spec what it is to be like; {@link ClientSpec#applyTo} gives all of it to a builder
     * @return the client; the kit closes it
     */
    SemaphoreClient connect(ClientSpec spec);

    /**
     * Says of which version the backend is, for the report.
     *
     * @return such as {@code Redis 7.0.15}; empty by default
     */
    default String backendVersion() {
        return "";
    }

    /**
     * Says how to start another JVM with a client of the same backend (level 1).
     *
     * @return empty if the backend lives in this process
     */
    default Optional<AgentLauncher> agents() {
        return Optional.empty();
    }

    /**
     * Says how to lead clients through a proxy (level 2). {@link UriAccess} does it for a URI of one host.
     *
     * @return empty if there is no network between client and backend, or the harness cannot; {@link #absent} says which
     */
    default Optional<ServerAccess> link() {
        return Optional.empty();
    }

    /**
     * Starts a server that nobody but the kit uses, so that it may be stopped (level 3). Called once in a run at most, when
     * the first rule wants it; the kit closes it.
     *
     * @return the running server; empty if there is none, or the harness cannot; {@link #absent} says which
     */
    default Optional<ServerControl> startServer() {
        return Optional.empty();
    }

    /**
     * Says why levels are missing. The rules that need them are reported as untested for this reason.
     *
     * @return a reason by level, such as {@code 2: "holds are locks on files: there is no network"}
     */
    default Map<Integer, String> absent() {
        return Map.of();
    }

    /**
     * Returns the access to the stored state past the adapter (level 4).
     *
     * @return empty if there is none
     */
    default Optional<StateProbe> state() {
        return Optional.empty();
    }

    /**
     * Says how to connect as somebody else (level 5).
     *
     * @return empty if there are no accounts, or the harness has none; {@link #absent} says which
     */
    default Optional<Accounts> accounts() {
        return Optional.empty();
    }

    /**
     * Lists what is at the backend now. After each test and its clean-up it must be what it was before the first.
     *
     * @return what is there; nothing by default, which the report tells
     */
    default Leftovers leftovers() {
        return Leftovers.NONE;
    }

    /**
     * Returns a name for a semaphore, different each time.
     *
     * @param run the name space of this run: lower-case letters, digits and hyphens
     * @param hint what the name is for, a few characters
     * @return the name
     */
    default String uniqueName(String run, String hint) {
        return run + "-" + hint;
    }

    /**
     * Tells which threads stay although every client is closed, because they belong to something that is shared by
     * design, such as a library's common pool.
     *
     * @param thread a live thread that was not there before the run
     * @return true if it may stay; the reason belongs into the documentation of the adapter
     */
    default boolean mayStay(Thread thread) {
        return false;
    }

    /**
     * Names the rules whose capability is declared and which this harness cannot show. The report prints them.
     *
     * @return a reason by rule id
     */
    default Map<String, String> unproven() {
        return Map.of();
    }

    /** Ends what the harness started. */
    @Override
    default void close() {}
}
