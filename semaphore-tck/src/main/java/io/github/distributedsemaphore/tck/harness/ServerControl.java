package io.github.distributedsemaphore.tck.harness;

import java.util.List;
import java.util.Optional;

/**
 * A server of the kit's own, which may be stopped, killed and wiped (level 3). Each method returns when its
 * effect is there, and throws if it had none: a fault that did nothing proves nothing. Called by one thread at a time, but for
 * what {@link ServerAccess} has.
 */
public interface ServerControl extends ServerAccess, AutoCloseable {
    /**
     * Tells whether the server runs.
     *
     * @return true from the start on, until it is stopped or killed
     */
    boolean isRunning();

    /** Starts the stopped server at its old address with the data that it has, and returns when it serves. */
    void start();

    /** Ends the server in order, and returns when the process is gone. */
    void stop();

    /** Ends the server with SIGKILL, and returns when its exit status has proved that. */
    void kill();

    /** Removes all data of the stopped server. */
    void wipe();

    /**
     * Returns what tells one run of the server from the next, such as a process id. The kit looks whether a restart
     * changed it.
     *
     * @return any text
     */
    String incarnation();

    /**
     * Lists the processes that the server consists of. The kit stops them with SIGSTOP and has them go on; where there are
     * none, it kills the server and starts it again instead.
     *
     * @return their ids now; none if the harness does not know them
     */
    default List<Long> processes() {
        return List.of();
    }

    /**
     * Adds a replica, which follows the server.
     *
     * @return empty if the adapter or the harness knows no fail-over
     */
    default Optional<Replica> replica() {
        return Optional.empty();
    }

    /**
     * Lists the ways in which the server can be made to answer requests with errors.
     *
     * @return a word for each; empty if it cannot
     */
    default List<String> errors() {
        return List.of();
    }

    /**
     * Has the server answer with errors.
     *
     * @param kind one of {@link #errors}
     */
    default void beginErrors(String kind) {
        throw new HookMissingException("ServerControl.beginErrors");
    }

    /**
     * Has the server answer as before.
     *
     * @param kind what {@link #beginErrors} began
     */
    default void endErrors(String kind) {
        throw new HookMissingException("ServerControl.endErrors");
    }

    /** Ends the server, running or not, and removes what it stored. */
    @Override
    void close();

    /** A server that can take over. */
    interface Replica extends AutoCloseable {
        /** Waits until it has everything that the server has. */
        void awaitCaughtUp();

        /** Cuts it off from the server: what is written from now on does not reach it. */
        void detach();

        /** Kills the server and lets the replica serve in its place: {@link ServerControl#address} is then the replica's. */
        void promote();

        /** Ends a replica that did not take over. */
        @Override
        void close();
    }
}
