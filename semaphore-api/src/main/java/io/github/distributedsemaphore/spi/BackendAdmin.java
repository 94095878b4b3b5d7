package io.github.distributedsemaphore.spi;

import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreStatus;
import java.util.List;
import java.util.Optional;

/**
 * Creates, shows and changes semaphores in the backend. Thread-safe. The same rules for threads, time and exceptions as
 * for {@link BackendSession}. The engine has checked names and numbers against the guarantees.
 */
public interface BackendAdmin {
    /**
     * Creates a semaphore. Two clients that do so at the same time end with one semaphore of one limit.
     *
     * @param name its name
     * @param limit its limit
     * @return true if this call created it, false if it exists with that limit
     * @throws io.github.distributedsemaphore.LimitConflictException if it exists with another limit
     */
    boolean create(String name, int limit);

    /**
     * Shows a semaphore, without side effect.
     *
     * @param name its name
     * @return empty if it does not exist
     */
    Optional<SemaphoreDescription> describe(String name);

    /**
     * Shows how full a semaphore is, without side effect. The default describes it and drops the holders: an adapter that can
     * count them with less work does so here.
     *
     * @param name its name
     * @return empty if it does not exist
     */
    default Optional<SemaphoreStatus> status(String name) {
        return describe(name).map(found -> new SemaphoreStatus(name, found.limit(), found.free()));
    }

    /**
     * Lists the semaphores.
     *
     * @return their names in ascending order
     * @throws UnsupportedOperationException if {@link io.github.distributedsemaphore.guarantees.Capability#LISTING} is not declared
     */
    List<String> names();

    /**
     * Changes the limit and wakes waiters. When it returns, no slot above the limit is granted to anybody. May be
     * repeated after it was broken off at any point, by whomever.
     *
     * @param name its name
     * @param limit the new limit
     * @throws io.github.distributedsemaphore.NoSuchSemaphoreException if it does not exist
     */
    void resize(String name, int limit);

    /**
     * Removes a semaphore and wakes waiters. Holders keep their slots. May be repeated after it was broken off.
     *
     * @param name its name
     * @return false if there was none
     */
    boolean destroy(String name);

    /**
     * Counts the holders of removed slots: slots above the limit, or all slots where the semaphore does not exist.
     *
     * @param name its name
     * @return zero if there are none
     */
    int retiredHolders(String name);
}
