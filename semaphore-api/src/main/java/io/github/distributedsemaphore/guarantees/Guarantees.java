package io.github.distributedsemaphore.guarantees;

import java.time.Duration;
import java.util.List;
import java.util.Set;

/**
 * What a backend promises under its present settings. A backend declares every bound, and the compatibility kit measures
 * it. Immutable.
 *
 * <p>Applications only read guarantees. Backends build them with {@link
 * io.github.distributedsemaphore.spi.GuaranteesBuilder}; later versions may add methods, so do not implement this
 * interface.
 *
 * <pre>{@code
 * Guarantees promised = client.guarantees();
 * if (!promised.has(Capability.FENCING)) {
 *     throw new IllegalStateException(promised.backend() + " has no fences");
 * }
 * }</pre>
 */
public interface Guarantees {

    /**
     * Returns the name of the backend.
     *
     * @return such as {@code local}
     */
    String backend();

    /**
     * Returns what the backend can do.
     *
     * @return unmodifiable
     */
    Set<Capability> capabilities();

    /**
     * Tells whether a capability is declared.
     *
     * @param capability the capability
     * @return true if it is
     */
    default boolean has(Capability capability) {
        return capabilities().contains(capability);
    }

    /**
     * Returns the shortest time from the death of a holder until its slot is free.
     *
     * @return zero or more
     */
    Duration detectionMin();

    /**
     * Returns the longest time from the death of a holder until its slot is free.
     *
     * @return zero or more
     */
    Duration detectionMax();

    /**
     * Returns the longest time until a holder learns that its slot was taken from it, other than by the end of its own
     * validity.
     *
     * @return zero or more
     */
    Duration lossNoticeBound();

    /**
     * Returns the longest time from an orderly release until a waiter of another process has the permit. Orderly is each release
     * that returned {@link io.github.distributedsemaphore.ReleaseOutcome#RELEASED}, also if an answer to it was lost.
     *
     * @return zero or more
     */
    Duration wakeUpBound();

    /**
     * Returns the longest duration of a call that does not wait for a permit.
     *
     * @return zero or more
     */
    Duration callBound();

    /**
     * Returns the longest time for which a slot passes among the threads of one client before the backend is asked. A
     * permit that was passed on may miss a resize or a destruction for as long.
     *
     * @return zero if slots are not passed on locally
     */
    Duration handOffBound();

    /**
     * Returns how long two holders of one slot may overlap because of a fault.
     *
     * @param fault the fault
     * @return the exposure; {@link Exposure#CANNOT_HAPPEN} for a fault that the backend does not declare
     */
    Exposure exposure(Fault fault);

    /**
     * Returns the length of the longest name.
     *
     * @return in bytes of UTF-8
     */
    int maxNameBytes();

    /**
     * Returns the highest limit of a semaphore.
     *
     * @return at least 1
     */
    int maxPermits();

    /**
     * Returns what else a user should know.
     *
     * @return a sentence each; unmodifiable
     */
    List<String> notes();
}
