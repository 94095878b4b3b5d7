package io.github.distributedsemaphore;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Guarantees;
import java.util.concurrent.CompletableFuture;

/**
 * One client's hold of one slot of a semaphore, from a successful acquire until it is released or lost.
 *
 * <pre>{@code
 * try (Permit permit = exports.acquire(Duration.ofSeconds(30))) {
 *     permit.onLost(loss -> log.warn("the export goes on without a permit: {}", loss.reason()));
 *     for (Page page : pages) {
 *         if (!permit.isValid()) {
 *             throw new IllegalStateException("another export may be running");
 *         }
 *         store.write(page, permit.fence()); // the store refuses a fence that is older than the newest it has seen
 *     }
 * }
 * }</pre>
 *
 * <p>Thread-safe: any thread of the process may ask, release or close it. A permit is bound to the
 * {@link SemaphoreClient} it came from and ends with it. It is never taken again silently: once lost, it stays lost.
 */
public interface Permit extends Holding {
    /**
     * Returns the number of the slot this permit holds: no two valid permits of a semaphore have the same.
     *
     * @return a number from 1 to the limit (above the limit once the slot is {@link Verification#RETIRED retired})
     */
    int slot();

    /**
     * Returns the token that a guarded resource compares. It stays readable after release and loss.
     *
     * @return the slot and its epoch
     * @throws UnsupportedOperationException if the backend does not declare {@link Capability#FENCING}
     */
    Fence fence();

    /**
     * Gives the permit up. Idempotent; blocks until the backend confirmed it, at most the
     * {@linkplain Guarantees#callBound operation bound}; an interrupt neither ends it nor is swallowed.
     *
     * @return what the release found
     * @throws OutcomeUnknownException if the backend could not confirm it in time. The permit counts as released here,
     *     the client goes on trying, and the slot is free at the latest within the detection bound
     * @throws SemaphoreException another leaf if the backend refused it, for example for lost rights; as above
     */
    ReleaseOutcome release();

    /**
     * Gives the permit up without blocking the caller, for instance on an event loop. A caller that stops using what the
     * permit guards before this call need not wait for the future.
     *
     * @return completes as {@link #release} returns or throws, on a thread as for {@link DistributedSemaphore#acquireAsync()}.
     *     Cancelling it does not stop the release
     */
    CompletableFuture<ReleaseOutcome> releaseAsync();
}
