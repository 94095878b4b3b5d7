package io.github.distributedsemaphore;

/** Why a permit was lost, for programs; {@link PermitLoss#reason} is for people. */
public enum LossCause {
    /**
     * No renewal was confirmed before {@link Permit#validUntil}: the backend did not answer for too long, or this process
     * did not run for too long.
     */
    NOT_RENEWED_IN_TIME,
    /**
     * The backend does not count the permit as held any more, although it was renewed in time: its slot was taken away, or
     * what the backend stores was removed.
     */
    TAKEN_BY_BACKEND,
    /** The client's session at the semaphore ended, for instance with its connection, and all its permits with it. */
    SESSION_ENDED,
    /** The application called {@link SemaphoreClient#abort}. */
    CLIENT_ABORTED
}
