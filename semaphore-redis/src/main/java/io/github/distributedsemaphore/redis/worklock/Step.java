package io.github.distributedsemaphore.redis.worklock;

/** What a look at the lock led to. */
sealed interface Step {
    /** The job is over for this worker. */
    record Over(WorkOutcome outcome, String why) implements Step {}

    /**
     * The lock was taken over.
     *
     * @param attempt which one begins
     * @param begun when it was asked for
     */
    record Won(long attempt, long begun) implements Step {}

    /** Another worker has it. */
    record Held(Sighting seen) implements Step {}

    /**
     * Somebody changed the key between the look and the change.
     *
     * @param takingOver whether this worker wanted to take it over
     */
    record Overtaken(boolean takingOver) implements Step {}

    /**
     * An attempt of another worker, and when this one first saw it.
     *
     * @param attempt its number
     * @param asked before it was asked for
     * @param answered after it was heard
     */
    record Sighting(long attempt, long asked, long answered) {}
}
