package io.github.distributedsemaphore;

/**
 * What one backend promises and another does not. The list is closed; the compatibility kit shows what is declared, and
 * shows of what is not declared that it is indeed absent.
 */
public enum Capability {
    /** The bound holds over processes. Absent: within one process only. */
    CROSS_PROCESS,
    /**
     * A slot whose holder dies without a word is free again within the detection bound. Absent: it stays held until an
     * administrator acts.
     */
    CRASH_RELEASE,
    /**
     * The backend may take a slot from a living process that does not renew in time; {@link Permit#validUntil} says
     * from when. Absent: a living process keeps its slot and {@code validUntil} is never.
     */
    LEASE,
    /** Permits have a {@link Fence}. Absent: {@link Permit#fence} throws {@link UnsupportedOperationException}. */
    FENCING,
    /**
     * Epochs go on rising when the semaphore is destroyed and made anew, and when the backend restarts. Absent: they
     * may start again.
     */
    DURABLE_FENCING,
    /** Limits and epochs are kept over a restart of the backend. */
    DURABLE_STATE,
    /** The backend can list its semaphores. Absent: {@link SemaphoreAdmin#names} throws. */
    LISTING
}
