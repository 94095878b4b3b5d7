package io.github.distributedsemaphore;

import java.util.function.Consumer;

/**
 * One client's hold of one slot of a semaphore, from a successful acquire until it is released or lost.
 *
 * <p>Thread-safe: any thread of the process may ask, release or close it. A permit is bound to the
 * {@link SemaphoreClient} it came from and ends with it. It is never taken again silently: once lost, it stays lost.
 */
public interface Permit extends AutoCloseable {
    /**
     * Returns the name of the semaphore.
     *
     * @return the name as the application gave it
     */
    String semaphore();

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
     * Tells, without asking the backend, whether the permit is surely held at this moment.
     *
     * <p>Local, cheap, never blocks and never optimistic: false after a release or a loss, and false from
     * {@link #validUntil} on, also when the process has just woken from a long pause. A permit that could not be
     * confirmed before that instant is lost for good, whatever the backend would say later.
     *
     * @return true only if nobody else can have the slot now
     */
    boolean isValid();

    /**
     * Returns the instant up to which the backend cannot have given the slot to another, counted from the sending of
     * the last renewal that it confirmed. Moves on with each renewal.
     *
     * @return an instant on this process's monotonic clock; {@link Deadline#NEVER} where the backend cannot take a slot
     *     from a living process; a past one after release or loss
     */
    Deadline validUntil();

    /**
     * Asks the backend. Blocks for one round trip, at most the {@linkplain Guarantees#operation operation bound}.
     *
     * @return what it says; after a release or a loss answered locally
     * @throws BackendUnavailableException if the backend did not answer; the permit may or may not be held, and
     *     {@link #isValid} goes on telling what is sure
     * @throws SemaphoreException another leaf for what else the backend may say, such as lost rights
     */
    Verification verify();

    /**
     * Has a listener told when the permit is lost: once, not after a normal release or close, and at once if it is lost
     * already. Listeners run on a thread of the client; one that blocks or throws holds up neither other listeners nor
     * renewal.
     *
     * @param listener told of the loss
     */
    void onLost(Consumer<? super PermitLoss> listener);

    /**
     * Gives the permit up. Idempotent; blocks until the backend confirmed it, at most the
     * {@linkplain Guarantees#operation operation bound}; an interrupt neither ends it nor is swallowed.
     *
     * @return what the release found
     * @throws OutcomeUnknownException if the backend could not confirm it in time. The permit counts as released here,
     *     the client goes on trying, and the slot is free at the latest within the detection bound
     * @throws SemaphoreException another leaf if the backend refused it, for example for lost rights; as above
     */
    ReleaseOutcome release();

    /** Releases the permit, never throws: a release that cannot be confirmed is logged. See {@link #release}. */
    @Override
    void close();
}
