package io.github.distributedsemaphore;

/** What the backend says about a permit when asked. */
public enum Verification {
    /** The backend counts the permit as held by this client. */
    HELD,
    /**
     * Still held, but its slot was removed by a resize or by the destruction of the semaphore. Nobody else can have
     * the slot while it is held; the holder should finish and release.
     */
    RETIRED,
    /** The backend does not count the permit as held any more. Final. */
    LOST,
    /** This client released the permit. Final. */
    RELEASED
}
