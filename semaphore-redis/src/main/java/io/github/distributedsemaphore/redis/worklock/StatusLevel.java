package io.github.distributedsemaphore.redis.worklock;

/** How much a worker tells by {@link WorkLockListener#status}. */
public enum StatusLevel {
    /** Also each look at the lock that changed nothing. */
    VERBOSE,

    /** What changes a worker's part: it has the job, the job is over, something odd was found. */
    NORMAL
}
