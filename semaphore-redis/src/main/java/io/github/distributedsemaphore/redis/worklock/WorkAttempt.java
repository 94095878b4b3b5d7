package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import java.time.Duration;

/**
 * One worker's turn at a job. It ends with {@link #done()}, or by itself: nothing renews it, and when the lock timeout has
 * passed another worker may begin the next attempt while this one still works.
 *
 * <p>Thread-safe.
 */
public final class WorkAttempt {
    private final Participation<?> worker;
    private final long number;
    private final long begun;
    private volatile boolean done;

    WorkAttempt(Participation<?> worker, long number, long begun) {
        this.worker = worker;
        this.number = number;
        this.begun = begun;
    }

    /**
     * Returns which attempt this is. It is no fencing token: when the key of a job is used again it begins at 1.
     *
     * @return the number, from 1
     */
    public long number() {
        return number;
    }

    /**
     * Tells whether nobody tries again if this attempt fails.
     *
     * @return true if this worker's maximum is reached
     */
    public boolean lastAttempt() {
        return number >= worker.settings().maxAttempts();
    }

    /**
     * Returns for how long no other worker begins the next attempt, if all have the same lock timeout. It is counted from
     * before the lock was asked for.
     *
     * @return zero when the lock timeout has passed
     */
    public Duration remaining() {
        return Duration.ofNanos(Math.max(0, worker.left(begun)));
    }

    /**
     * Records that the job is finished, so that no worker begins it again as long as the marker is kept ({@link
     * RedisWorkLock.Builder#doneRetention}). Call it when the work is finished, even if the lock timeout has passed
     * meanwhile. Blocks until the server has confirmed; without an answer it tries again, on new connections, until a
     * lock timeout has passed since the call. An interrupt ends the trying, and the flag stays set. It may be called
     * again, also after {@link WorkLockListener#acquired} has returned, and by any thread: the listener hears of it on the
     * thread that calls this.
     *
     * @return true if this was still the newest attempt; false if another worker had begun the next one, or the job was
     *     recorded as finished before, so that the work may have been done twice. False too if that is not known: an answer was
     *     lost, and this was not the first attempt or the lock timeout has passed
     * @throws BackendUnavailableException if the server could not be reached: nothing is recorded, and the other workers
     *     will take over
     * @throws OutcomeUnknownException if the answer was lost: it may or may not be recorded
     * @throws SemaphoreException if the server refuses it for good, or the lock was closed: nothing is recorded
     */
    public boolean done() {
        return worker.finish(this);
    }

    void recorded() {
        done = true;
    }

    boolean isDone() {
        return done;
    }

    @Override
    public String toString() {
        return "attempt " + number + " of " + worker.settings().maxAttempts() + " at " + worker.key();
    }
}
