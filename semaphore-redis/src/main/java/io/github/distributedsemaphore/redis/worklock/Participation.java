package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.redis.net.WireException.MovedException;
import io.github.distributedsemaphore.redis.worklock.Step.Sighting;
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

    private final LockConnections connections;
    private final WorkLockSettings settings;
    private final Pacing pacing;
    private final String key;
    private final WorkLockListener<E> listener;

    /** How long it took to open the last connection for a look. */
    private long opening;

    Participation(
            LockConnections connections,
            WorkLockSettings settings,
            Pacing pacing,
            String key,
            WorkLockListener<E> listener) {
        this.connections = connections;
        this.settings = settings;
        this.pacing = pacing;
        this.key = key;
        this.listener = listener;
    }

    WorkLockSettings settings() {
        return settings;
    }

    Pacing pacing() {
        return pacing;
    }

    String key() {
        return key;
    }

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
        boolean repeated = false;
        while (true) {
            try {
                return askForFirst();
            } catch (OutcomeUnknownException e) {
                // If the server had it, it refuses the repetition: the attempt counts as that of a worker that died.
                // If not, perhaps nobody else ever begins.
                refuseIfClosed();
                listener.error(e);
            } catch (BackendUnavailableException e) {
                if (!repeated) {
                    throw e;
                }
                refuseIfClosed();
                listener.error(e);
            }
            if (repeated) {
                pauseAfterFailure();
            }
            repeated = true;
        }
    }

    /** As {@link #begin}, once; but a hash slot that moves from one node to another is followed, for the cluster is healthy. */
    private OptionalLong askForFirst() throws InterruptedException {
        Deadline deadline = connections.callDeadline();
        while (true) {
            long asked = pacing.nanoTime();
            try (LockConnection connection = connections.open(key)) {
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
        long started = pacing.nanoTime();
        try (LockConnection connection = connections.open(key)) {
            opening = pacing.nanoTime() - started;
            // The connection may have come sooner than the last one.
            long early = seen == null ? 0 : left(seen);
            if (early > 0) {
                pause(early);
            }
            return look(connection, seen);
        } catch (BackendUnavailableException | OutcomeUnknownException e) {
            refuseIfClosed();
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
        long asked = pacing.nanoTime();
        LockConnection.Sight sight = connection.watch();
        Sighting now = new Sighting(sight.value().attempt(), asked, pacing.nanoTime());
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
        long begun = pacing.nanoTime();
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
        long left = left(seen);
        tell(
                StatusLevel.VERBOSE,
                "attempt " + seen.attempt() + " is under way, looking again in "
                        + Durations.format(Duration.ofMillis(Math.max(0, left) / 1_000_000)));
        pause(left - lead());
    }

    private long left(Sighting seen) {
        return settings.lockTimeout().toNanos() - (pacing.nanoTime() - seen.answered());
    }

    /**
     * How long before a look its connection is opened. If opening took long after the pause, each look would come too
     * late to know that it sees the same attempt.
     */
    private long lead() {
        return opening > settings.lockTimeout().toNanos() / QUICK ? opening : 0;
    }

    private void pause(long nanos) throws InterruptedException {
        if (pacing.pause(connections.end(), nanos)) {
            refuseIfClosed();
        }
    }

    private void refuseIfClosed() {
        connections.refuseIfClosed(key);
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
        long started = pacing.nanoTime();
        boolean unknown = false;
        LockValue before = null;
        while (before == null) {
            try (LockConnection connection = connections.open(key)) {
                before = connection.finish(settings.doneRetention());
            } catch (SemaphoreException e) {
                unknown |= e instanceof OutcomeUnknownException;
                retryOrThrow(e, unknown, started);
            }
        }
        // Before the listener hears of it, because what that throws undoes nothing.
        attempt.recorded();
        boolean newest = before.attempt() == attempt.number() || (unknown && isOwn(before, attempt));
        tell(attempt.number(), newest, before);
        return newest;
    }

    /** After a lost answer the marker may be our own, and what that replaced is lost too. Before the lock timeout it is no other's. */
    private static boolean isOwn(LockValue before, WorkAttempt attempt) {
        return before.kind() == LockValue.Kind.DONE && !attempt.remaining().isZero();
    }

    private void tell(long attempt, boolean newest, LockValue before) {
        tell(
                StatusLevel.NORMAL,
                newest
                        ? "finished by attempt " + attempt
                        : "finished by attempt " + attempt + ", although "
                                + (before.attempt() > 0
                                        ? "attempt " + before.attempt() + " has begun"
                                        : "the key was " + (before.text().isEmpty() ? "gone" : before.text())));
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
            refuseIfClosed();
        }
        if (!temporary
                || connections.isClosed()
                || pacing.nanoTime() - started > settings.lockTimeout().toNanos()) {
            throw failure;
        }
        listener.error(failure);
        try {
            pacing.pause(connections.end(), RECORD_PAUSE.toNanos());
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
