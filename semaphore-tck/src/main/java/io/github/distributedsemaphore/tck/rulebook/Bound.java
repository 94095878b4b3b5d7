package io.github.distributedsemaphore.tck.rulebook;

/** A bound that an adapter declares and the kit measures. */
public enum Bound {
    /** From the call to the end of a call that does not wait for a permit. */
    OPERATION,
    /** From the call to the end of a release. */
    RELEASE,
    /** From the call of a release to the grant to a waiter. */
    WAKE_UP,
    /** From the death of a holder to the grant of its slot to another. */
    DETECTION,
    /** From the taking of a slot by somebody else's act to the news of it. */
    LOSS_NOTICE,
    /** From the end of the time that a waiter gave to its return. */
    TIMEOUT_SLACK,
    /** From the grant to a successor to the last instant at which a stopped holder called itself valid. */
    PAUSE_EXPOSURE,
    /** From the grant to a successor to the last instant at which a holder that was cut off called itself valid. */
    LINK_EXPOSURE
}
