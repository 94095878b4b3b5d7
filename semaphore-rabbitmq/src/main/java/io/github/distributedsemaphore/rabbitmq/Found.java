package io.github.distributedsemaphore.rabbitmq;

/** What a look at all slots showed. */
enum Found {
    /** As many as were wanted are taken. */
    ENOUGH,
    /** All others were held when they were looked at. */
    NO_MORE,
    /** All were held at one instant. */
    FULL,
    /** Others were faster, or are just taking several slots, which they may give back. */
    UNCLEAR,
    /** The limit is not what it was taken for. */
    OTHER_LIMIT
}
