package io.github.distributedsemaphore.redis.worklock;

/** How a worker's part in a job ended. */
public enum WorkOutcome {
    /** This worker did the job, and it is recorded as finished. */
    DONE,

    /**
     * This worker had the job and came back from {@link WorkLockListener#acquired} without {@link WorkAttempt#done()}. The
     * other workers take over once the lock timeout has passed, if an attempt is left; this one may take part again.
     */
    NOT_DONE,

    /** Another worker finished the job. */
    FINISHED_ELSEWHERE,

    /**
     * The key was gone. Another worker finished the job and its marker was removed; or, much more rarely, the job was given
     * up and that was forgotten. The stored values do not tell which.
     */
    GONE,

    /** All attempts were used up and none was recorded as finished. The job is given up. */
    EXHAUSTED
}
