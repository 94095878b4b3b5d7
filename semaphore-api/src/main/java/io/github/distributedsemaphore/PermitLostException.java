package io.github.distributedsemaphore;

/**
 * A permit was lost while work went on under it. The work must stop, since another holder may be at it: what it wrote after
 * the loss has to be checked, or was refused by a {@linkplain Fence fence}.
 *
 * <p>Unlike a {@link SemaphoreException} it is no answer of the backend. {@link InterruptOnLoss#throwIfLost} throws it. Calls that run
 * work under a permit end with it: a method with {@code @WithPermit}, and {@code withPermit} of Kotlin and Reactor.
 */
public final class PermitLostException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The semaphore. */
    private final String semaphoreName;
    /** The slot that the permit held. */
    private final int slot;
    /** Why, for a program. */
    private final LossCause lossCause;
    /** Why, for a log. */
    private final String reason;

    /**
     * Creates it.
     *
     * @param loss what happened
     */
    public PermitLostException(PermitLoss loss) {
        super("The permit in slot " + loss.slot() + " of semaphore '" + loss.semaphoreName() + "' is lost: "
                + loss.reason());
        this.semaphoreName = loss.semaphoreName();
        this.slot = loss.slot();
        this.lossCause = loss.cause();
        this.reason = loss.reason();
    }

    /**
     * Returns what happened.
     *
     * @return the news of the loss
     */
    public PermitLoss loss() {
        return new PermitLoss(semaphoreName, slot, lossCause, reason);
    }
}
