package io.github.distributedsemaphore;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Permits that were acquired together, all or none. Thread-safe. Each permit may also be released alone; closing the
 * group releases those that are left.
 *
 * <pre>{@code
 * try (PermitGroup cores = semaphore.acquire(4, Duration.ofMinutes(1))) {
 *     build(cores.permits().size());
 * }
 * }</pre>
 */
public interface PermitGroup extends Holding {
    /**
     * Returns the permits.
     *
     * @return an unmodifiable list in ascending order of slots, never empty
     */
    List<Permit> permits();

    /**
     * Releases all permits that are still held, at most 128 in one exchange with the backend.
     *
     * @return the outcome for each permit, in the order of {@link #permits}
     * @throws SemaphoreException as {@link Permit#release} does, after all of them were tried
     */
    List<ReleaseOutcome> release();

    /**
     * Releases all permits that are still held without blocking the caller.
     *
     * @return as {@link Permit#releaseAsync}, with the outcome for each permit, in the order of {@link #permits}
     */
    CompletableFuture<List<ReleaseOutcome>> releaseAsync();
}
