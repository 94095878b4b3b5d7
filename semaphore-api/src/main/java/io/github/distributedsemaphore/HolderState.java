package io.github.distributedsemaphore;

/** How the backend sees a holder in a {@link SemaphoreDescription}. */
public enum HolderState {
    /** Alive as far as the backend knows. */
    HELD,
    /** Alive, in a slot that was removed by a resize. */
    RETIRED,
    /** Known to be gone; the slot is given away at the next acquire. */
    EXPIRED
}
