package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.redis.worklock.Step.Sighting;
import org.jspecify.annotations.Nullable;

/**
 * The check of a worker that waits: reads the key under WATCH and decides, and what it decides is done by MULTI and EXEC
 * only if the key is still the same. One look has one connection, which nobody else uses.
 */
final class Look {
    private final LockConnection connection;
    private final WorkLockSettings settings;
    private final Pacing pacing;
    private final String key;

    Look(LockConnection connection, WorkLockSettings settings, Pacing pacing, String key) {
        this.connection = connection;
        this.settings = settings;
        this.pacing = pacing;
        this.key = key;
    }

    /**
     * Looks, and changes what has to be changed.
     *
     * @param before what the last look saw; null if nothing, or nothing that counts any more
     */
    Step after(@Nullable Sighting before) {
        long asked = pacing.nanoTime();
        LockConnection.Sight sight = connection.watch();
        Sighting now = new Sighting(sight.value().attempt(), asked, pacing.nanoTime());
        return switch (sight.value().kind()) {
            case ABSENT ->
                new Step.Over(WorkOutcome.GONE, "the key is gone, so another worker finished the job and cleaned up");
            case DONE -> cleanUp(sight.expires());
            case NOT_A_NUMBER -> mend();
            case ATTEMPT -> weigh(now, before, sight.expires());
            case FOREIGN ->
                throw new IncompatibleStateException(
                        "key '" + key + "' holds '" + sight.value().text()
                                + "', which is no value of a work lock: choose another key, or delete this one;"
                                + " nothing was changed",
                        null);
        };
    }

    /** A marker without an end is of the Node package, whose next waiting worker would delete it. */
    private Step cleanUp(boolean expires) {
        return expires || connection.expire(settings.doneRetention())
                ? new Step.Over(WorkOutcome.FINISHED_ELSEWHERE, "another worker finished the job")
                : new Step.Overtaken(false);
    }

    /** Only the marker of a finished job becomes this value, when a worker in Node counts on from it. */
    private Step mend() {
        return connection.replaceByDone(settings.doneRetention())
                ? new Step.Over(
                        WorkOutcome.FINISHED_ELSEWHERE,
                        "the value was NaN, which is what a worker in Node makes of a finished job; it is DONE again")
                : new Step.Overtaken(false);
    }

    private Step weigh(Sighting now, @Nullable Sighting before, boolean expires) {
        boolean last = now.attempt() >= settings.maxAttempts();
        if (last && expires) {
            return new Step.Over(WorkOutcome.EXHAUSTED, "the job was given up after attempt " + now.attempt());
        } else if (before == null || !now.isOf(before) || isStale(now, before)) {
            return new Step.Held(now);
        } else if (now.asked() - before.answered() < settings.lockTimeout().toNanos()) {
            return new Step.Held(before);
        }
        return last ? giveUp(now.attempt()) : takeOver(now.attempt() + 1);
    }

    /**
     * A worker that was stopped for long may have missed the end of the job, of its marker, and the beginning of a job
     * with the same key: the same number is not the same attempt then.
     */
    private boolean isStale(Sighting now, Sighting before) {
        return now.answered() - before.asked() > settings.expiry().toNanos();
    }

    private Step giveUp(long attempt) {
        return connection.expire(settings.expiry())
                ? new Step.Over(WorkOutcome.EXHAUSTED, "attempt " + attempt + " was the last one and did not finish")
                : new Step.Overtaken(false);
    }

    private Step takeOver(long attempt) {
        long begun = pacing.nanoTime();
        return connection.replace(attempt) ? new Step.Won(attempt, begun) : new Step.Overtaken(true);
    }
}
