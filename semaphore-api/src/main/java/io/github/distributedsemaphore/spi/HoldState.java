package io.github.distributedsemaphore.spi;

/** What the backend says about one hold. */
public enum HoldState {
    /** It counts as held by this session. */
    HELD,
    /** Held, and its slot was removed by a resize or a destruction. */
    RETIRED,
    /** Not held by this session any more; final. */
    LOST
}
