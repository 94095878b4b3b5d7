package io.github.distributedsemaphore;

import java.util.List;

/**
 * Permits that were acquired together, all or none. Thread-safe. Each permit may also be released alone; closing the
 * group releases those that are left.
 */
public interface PermitGroup extends AutoCloseable {
    /**
     * Returns the permits.
     *
     * @return an unmodifiable list in ascending order of slots, never empty
     */
    List<Permit> permits();

    /**
     * Tells whether all of them are surely held.
     *
     * @return true if {@link Permit#isValid} is true for each
     */
    boolean isValid();

    /**
     * Releases all permits that are still held, in one exchange with the backend.
     *
     * @return the outcome for each permit, in the order of {@link #permits}
     * @throws SemaphoreException as {@link Permit#release} does, after all of them were tried
     */
    List<ReleaseOutcome> release();

    /** Releases all permits that are still held; never throws. */
    @Override
    void close();
}
