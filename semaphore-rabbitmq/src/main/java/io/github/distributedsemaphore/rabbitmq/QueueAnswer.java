package io.github.distributedsemaphore.rabbitmq;

/** What the broker says to a request about one queue. */
enum QueueAnswer {
    /** Done; or it is there and not somebody else's. */
    OK,
    /** There is none (404). */
    ABSENT,
    /** It is exclusive to another connection, or it is there and not exclusive (405). */
    LOCKED,
    /** It is stored on a node of the cluster that is down (404 with that reason). */
    DOWN
}
