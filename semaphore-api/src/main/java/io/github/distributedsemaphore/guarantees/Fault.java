package io.github.distributedsemaphore.guarantees;

/** A fault for which a backend states its exposure. */
public enum Fault {
    /** The holder's process dies. */
    CLIENT_CRASH,
    /**
     * The holder's process is stopped for longer than its permit is valid, and goes on. The clock of {@link System#nanoTime} goes on
     * meanwhile: that of a suspended machine may not.
     */
    CLIENT_PAUSE,
    /** The link between holder and backend is cut or stalls. */
    LINK_CUT,
    /** The backend stops and starts again with its data. */
    BACKEND_RESTART,
    /** The backend moves to a replica. */
    FAIL_OVER,
    /** Somebody removes or changes the stored state under a holder. */
    STATE_REMOVED
}
