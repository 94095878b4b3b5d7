package io.github.distributedsemaphore;

/** What a release found. */
public enum ReleaseOutcome {
    /** The permit was held and is now free for others, or has passed to a waiting thread of the same client. */
    RELEASED,
    /** This permit had been released before, by whichever thread; nothing was done. */
    ALREADY_RELEASED,
    /** The permit had been lost before; nobody else's permit was touched. */
    WAS_LOST
}
