package io.github.distributedsemaphore.guarantees;

/**
 * What one backend promises and another does not. The list is closed. The compatibility kit tests every declared
 * capability. It shows that an undeclared one is absent, where a test can show that: an order may come about by chance.
 */
public enum Capability {
    /** The limit holds across processes. Absent: it holds within one process only. */
    CROSS_PROCESS,
    /**
     * A slot whose holder dies without a word is free again within the detection bound. Absent: it stays held until an
     * administrator acts.
     */
    CRASH_RELEASE,
    /**
     * The backend may take a slot from a living process that does not renew in time; {@link io.github.distributedsemaphore.Permit#validUntil} says
     * from when. Absent: a living process keeps its slot and {@code validUntil} is never.
     */
    LEASE,
    /** Permits have a {@link io.github.distributedsemaphore.Fence}. Absent: {@link io.github.distributedsemaphore.Permit#fence} throws {@link UnsupportedOperationException}. */
    FENCING,
    /**
     * Epochs go on rising when the semaphore is destroyed and created again, and when the backend restarts. Absent: they
     * may start again.
     */
    DURABLE_FENCING,
    /** Limits and epochs are kept over a restart of the backend. */
    DURABLE_STATE,
    /** The backend can list its semaphores. Absent: {@link io.github.distributedsemaphore.SemaphoreAdmin#names} throws. */
    LISTING,
    /**
     * A create, resize or destroy of unknown outcome was done as a whole or not at all. Absent: it may have been broken off between two
     * of its steps, so that the limit is between the old one and the new one until the call is repeated.
     */
    ATOMIC_ADMINISTRATION,
    /**
     * Clients that wait for the same number of permits each are served in the order in which they began to wait. There are exceptions. A
     * client that does not take its permit within some milliseconds may be passed. Clients that begin to wait within a second of each other may
     * change places, and so may those behind the first eight. A client that was cut off may lose its place. A client that was just
     * served may be served again for some milliseconds. A call that does not wait may go ahead. Absent: there is no order between clients.
     */
    ARRIVAL_ORDER
}
