package io.github.distributedsemaphore.tck.history;

import java.util.EnumSet;
import java.util.Set;

/**
 * States that are reached now and then in a run that means something. A run that never was in one of them can have missed
 * whatever goes wrong there: it passed for want of an occasion.
 */
public enum Sometimes {
    /** As many permits as the limit were surely held at one instant. */
    ALL_HELD,
    /** An attempt that does not wait was refused. */
    REFUSED,
    /** Somebody asked when all permits were held, waited, and was served. */
    WAITED,
    /** A slot passed to a caller that had asked before it was released. */
    HANDED_ON,
    /** An acquire failed, or nobody knows whether it did: where holds end with the connection, that is always known. */
    ACQUIRE_BROKEN_OFF,
    /** A release failed, or nobody knows whether it did. */
    RELEASE_BROKEN_OFF,
    /** Nobody knows whether an acquire took permits. */
    ACQUIRE_UNKNOWN,
    /** Nobody knows whether a release gave its permits back. */
    RELEASE_UNKNOWN,
    /** A holder heard that its permit is lost. */
    LOST,
    /** A permit was released after its loss had been reported. */
    RELEASED_AFTER_LOSS,
    /** A process was killed that held a permit. */
    KILLED_HOLDING,
    /** A process was killed that waited for a permit. */
    KILLED_WAITING,
    /** A waiter got the slot of a process that was killed. */
    SERVED_BY_A_CRASH,
    /** A process was stopped for longer than its permit was valid. */
    STOPPED_BEYOND_VALIDITY,
    /** Connections were cut, and new ones could be made soon. */
    CUT_SHORTLY,
    /** A client could not reach the backend for longer than a dead holder keeps its slot. */
    CUT_FOR_LONG,
    /** The limit was changed while permits were held. */
    RESIZED_UNDER_HOLDERS;

    /**
     * Returns what every history of clients that contend has to reach.
     *
     * @return a new set
     */
    public static Set<Sometimes> underContention() {
        return EnumSet.of(ALL_HELD, REFUSED, WAITED, HANDED_ON);
    }
}
