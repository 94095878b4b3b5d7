package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.redis.net.WireException.MovedException;
import io.github.distributedsemaphore.redis.worklock.LockConnection.Value;
import io.github.distributedsemaphore.spi.support.Durations;
import java.time.Duration;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * One worker at one job: the first SETNX, then one look after another. Time is measured on this worker's own clock, from
 * when it first saw a value to when it sees the same value again; no two clocks are compared.
 */
final class Participation<E extends Exception> {
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);
    private static final Duration RECORD_PAUSE = Duration.ofMillis(50);

    /** A connection that takes more than this part of the lock timeout is opened before a pause ends. */
    private static final int QUICK = 10;

    private final RedisWorkLock lock;
    private final WorkLockSettings settings;
    private final String key;
    private final WorkLockListener<E> listener;

    /** How long it took to open the last connection for a look. */
    private long opening;

    Participation(RedisWorkLock lock, String key, WorkLockListener<E> listener) {
        this.lock = lock;
        this.settings = lock.settings();
        this.key = key;
        this.listener = listener;
    }

    WorkLockSettings settings() {
        return settings;
    }

    String key() {
        return key;
    }

    /** What a look at the lock led to. */
    private sealed interface Step {
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
    }

    /**
     * An attempt of another worker, and when this one first saw it.
     *
     * @param attempt its number
     * @param asked before it was asked for
     * @param answered after it was heard
     */
    private record Sighting(long attempt, long asked, long answered) {}

    WorkOutcome run() throws E, InterruptedException {
        OptionalLong asked = begin();
        if (asked.isPresent()) {
            return work(1, asked.getAsLong());
        }
        listener.locked();
        return backUp();
    }

    /** Returns when the first attempt was asked for; empty if there is one already. */
    private OptionalLong begin() throws InterruptedException {
        for (int failures = 0; ; failures++) {
            try {
                return askForFirst();
            } catch (BackendUnavailableException | OutcomeUnknownException e) {
                // If the server had what has no answer, it refuses the repetition: the attempt counts as that of a
                // worker that died. If not, perhaps nobody else ever begins.
                if (failures == 0 && e instanceof BackendUnavailableException) {
                    throw e;
                }
                lock.refuseIfClosed(key);
                listener.error(e);
            }
            if (failures > 0) {
                pauseAfterFailure();
            }
        }
    }

    /** As {@link #begin}, once; but a hash slot that moves from one node to another is followed, for the cluster is healthy. */
    private OptionalLong askForFirst() throws InterruptedException {
        Deadline deadline = lock.callDeadline();
        while (true) {
            long asked = lock.nanoTime();
            try (LockConnection connection = lock.open(key)) {
                return connection.begin() ? OptionalLong.of(asked) : OptionalLong.empty();
            } catch (BackendUnavailableException e) {
                if (!(e.getCause() instanceof MovedException) || deadline.isPast(System.nanoTime())) {
                    throw e;
                }
            }
            pause(RedisConnections.soon().nanosFrom(System.nanoTime()));
        }
    }

    private WorkOutcome backUp() throws E, InterruptedException {
        Sighting seen = null;
        while (true) {
            Step step = lookOrPause(seen);
            if (step instanceof Step.Won won) {
                return work(won.attempt(), won.begun());
            } else if (step instanceof Step.Over over) {
                return end(over);
            } else if (step instanceof Step.Held held) {
                seen = held.seen();
                await(seen);
            } else if (step instanceof Step.Overtaken overtaken) {
                seen = null;
                overtaken(overtaken);
            }
        }
    }

    /** Returns null if the server could not be asked, after a pause. */
    private @Nullable Step lookOrPause(@Nullable Sighting seen) throws InterruptedException {
        long started = lock.nanoTime();
        try (LockConnection connection = lock.open(key)) {
            opening = lock.nanoTime() - started;
            // The connection may have come sooner than the last one.
            long early = seen == null ? 0 : left(seen.answered());
            if (early > 0) {
                pause(early);
            }
            return look(connection, seen);
        } catch (BackendUnavailableException | OutcomeUnknownException e) {
            lock.refuseIfClosed(key);
            listener.error(e);
        }
        pauseAfterFailure();
        return null;
    }

    /**
     * Reads the key under WATCH and decides. What it decides is done by MULTI and EXEC, only if the key is still the same.
     *
     * @param connection is for this look alone
     * @param before what the last look saw; null if nothing, or nothing that counts any more
     */
    private Step look(LockConnection connection, @Nullable Sighting before) {
        long asked = lock.nanoTime();
        LockConnection.Sight sight = connection.watch();
        Sighting now = new Sighting(sight.value().attempt(), asked, lock.nanoTime());
        return switch (sight.value().kind()) {
            case ABSENT ->
                new Step.Over(WorkOutcome.GONE, "the key is gone, so another worker finished the job and cleaned up");
            case DONE -> cleanUp(connection, sight.expires());
            case NOT_A_NUMBER -> mend(connection);
            case ATTEMPT -> weigh(connection, now, before, sight.expires());
            case FOREIGN ->
                throw new IncompatibleStateException(
                        "key '" + key + "' holds '" + sight.value().text()
                                + "', which is no value of a work lock: choose another key, or delete this one;"
                                + " nothing was changed",
                        null);
        };
    }

    /** A marker without an end is of the Node package, whose next waiting worker would delete it. */
    private Step cleanUp(LockConnection connection, boolean expires) {
        return expires || connection.expire(settings.doneRetention())
                ? new Step.Over(WorkOutcome.FINISHED_ELSEWHERE, "another worker finished the job")
                : new Step.Overtaken(false);
    }

    /** Only the marker of a finished job becomes this value, when a worker in Node counts on from it. */
    private Step mend(LockConnection connection) {
        return connection.replaceByDone(settings.doneRetention())
                ? new Step.Over(
                        WorkOutcome.FINISHED_ELSEWHERE,
                        "the value was NaN, which is what a worker in Node makes of a finished job; it is DONE again")
                : new Step.Overtaken(false);
    }

    private Step weigh(LockConnection connection, Sighting now, @Nullable Sighting before, boolean expires) {
        boolean last = now.attempt() >= settings.maxAttempts();
        if (last && expires) {
            return new Step.Over(WorkOutcome.EXHAUSTED, "the job was given up after attempt " + now.attempt());
        } else if (before == null || now.attempt() != before.attempt() || isStale(now, before)) {
            return new Step.Held(now);
        } else if (now.asked() - before.answered() < settings.lockTimeout().toNanos()) {
            return new Step.Held(before);
        }
        return last ? giveUp(connection, now.attempt()) : takeOver(connection, now.attempt() + 1);
    }

    /**
     * A worker that was stopped for long may have missed the end of the job, of its marker, and the beginning of a job
     * with the same key: the same number is not the same attempt then.
     */
    private boolean isStale(Sighting now, Sighting before) {
        return now.answered() - before.asked() > settings.expiry().toNanos();
    }

    private Step giveUp(LockConnection connection, long attempt) {
        return connection.expire(settings.expiry())
                ? new Step.Over(WorkOutcome.EXHAUSTED, "attempt " + attempt + " was the last one and did not finish")
                : new Step.Overtaken(false);
    }

    private Step takeOver(LockConnection connection, long attempt) {
        long begun = lock.nanoTime();
        return connection.replace(attempt) ? new Step.Won(attempt, begun) : new Step.Overtaken(true);
    }

    private void pauseAfterFailure() throws InterruptedException {
        pause(Math.min(settings.lockTimeout().toNanos(), LONGEST_PAUSE.toNanos()));
    }

    private WorkOutcome end(Step.Over over) {
        tell(StatusLevel.NORMAL, over.why());
        if (over.outcome() == WorkOutcome.EXHAUSTED) {
            listener.maxAttempts();
        }
        return over.outcome();
    }

    private void overtaken(Step.Overtaken overtaken) {
        tell(StatusLevel.VERBOSE, "the key was changed meanwhile");
        if (overtaken.takingOver()) {
            listener.locked();
        }
    }

    private void await(Sighting seen) throws InterruptedException {
        long left = left(seen.answered());
        tell(
                StatusLevel.VERBOSE,
                "attempt " + seen.attempt() + " is under way, looking again in "
                        + Durations.format(Duration.ofMillis(Math.max(0, left) / 1_000_000)));
        pause(left - lead());
    }

    /** How many nanoseconds of a lock timeout are left; negative if it has passed. */
    long left(long since) {
        return settings.lockTimeout().toNanos() - (lock.nanoTime() - since);
    }

    /**
     * How long before a look its connection is opened. If opening took long after the pause, each look would come too
     * late to know that it sees the same attempt.
     */
    private long lead() {
        return opening > settings.lockTimeout().toNanos() / QUICK ? opening : 0;
    }

    private void pause(long nanos) throws InterruptedException {
        lock.pause(nanos);
        lock.refuseIfClosed(key);
    }

    private WorkOutcome work(long number, long begun) throws E {
        WorkAttempt attempt = new WorkAttempt(this, number, begun);
        tell(StatusLevel.NORMAL, "has attempt " + number + " of " + settings.maxAttempts());
        listener.acquired(attempt);
        return attempt.isDone() ? WorkOutcome.DONE : WorkOutcome.NOT_DONE;
    }

    /**
     * Records the end of the job. The marker is written whatever the key holds, because a finished job is finished even if another
     * attempt has begun; so the writing may be repeated, and late. Any thread may call it.
     *
     * @return whether the attempt was certainly still the newest one
     */
    boolean finish(WorkAttempt attempt) {
        long started = lock.nanoTime();
        boolean unknown = false;
        Value before = null;
        while (before == null) {
            try (LockConnection connection = lock.open(key)) {
                before = connection.finish(settings.doneRetention());
            } catch (SemaphoreException e) {
                unknown |= e instanceof OutcomeUnknownException;
                retryOrThrow(e, unknown, started);
            }
        }
        // Before the listener hears of it, because what that throws undoes nothing.
        attempt.recorded();
        boolean newest = before.attempt() == attempt.number() || (unknown && isOwn(before, attempt));
        tell(
                StatusLevel.NORMAL,
                "finished by attempt " + attempt.number() + (newest ? "" : ", although " + change(before)));
        return newest;
    }

    /**
     * After a lost answer the marker may be our own, and what that replaced is lost too. Before the lock timeout it is not that of a
     * later attempt. An earlier one may be recorded at any time, so only the first attempt can be sure.
     */
    private static boolean isOwn(Value before, WorkAttempt attempt) {
        return before.kind() == Value.Kind.DONE
                && attempt.number() == 1
                && !attempt.remaining().isZero();
    }

    private static String change(Value before) {
        return before.attempt() > 0
                ? "attempt " + before.attempt() + " has begun"
                : "the key was " + (before.text().isEmpty() ? "gone" : before.text());
    }

    /**
     * Pauses before the next try, if there is to be one.
     *
     * @param unknown whether this try or one before it may have recorded the end: then no failure says that nothing is recorded
     */
    private void retryOrThrow(SemaphoreException refusal, boolean unknown, long started) {
        SemaphoreException failure = unknown && !(refusal instanceof OutcomeUnknownException)
                ? new OutcomeUnknownException(
                        "key '" + key + "': the end may be recorded, because an answer was lost; then: "
                                + refusal.getMessage(),
                        refusal)
                : refusal;
        boolean temporary =
                refusal instanceof OutcomeUnknownException || refusal instanceof BackendUnavailableException;
        if (!unknown) {
            lock.refuseIfClosed(key);
        }
        if (!temporary || lock.isClosed() || left(started) < 0) {
            throw failure;
        }
        listener.error(failure);
        try {
            lock.pause(RECORD_PAUSE.toNanos());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw failure;
        }
    }

    private void tell(StatusLevel level, String what) {
        if (level.compareTo(settings.statusLevel()) >= 0) {
            listener.status("key '" + key + "': " + what);
        }
    }
}
