package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import java.time.Duration;

/**
 * Records the end of a job. The marker is written whatever the key holds, because a finished job is finished even if
 * another attempt has begun; so the writing may be repeated, and late. Thread-safe.
 */
final class Finishing {
    private static final Duration PAUSE = Duration.ofMillis(50);

    private final LockConnections connections;
    private final WorkLockSettings settings;
    private final Pacing pacing;
    private final String key;
    private final Participation<?> worker;

    Finishing(
            LockConnections connections,
            WorkLockSettings settings,
            Pacing pacing,
            String key,
            Participation<?> worker) {
        this.connections = connections;
        this.settings = settings;
        this.pacing = pacing;
        this.key = key;
        this.worker = worker;
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

    /** Returns whether the attempt was still the newest one. */
    boolean finish(long attempt) {
        long started = pacing.nanoTime();
        boolean unknown = false;
        while (true) {
            try (LockConnection connection = connections.open(key)) {
                LockValue before = connection.finish(settings.doneRetention());
                // The marker may be our own, from a try whose answer was lost.
                boolean newest = before.attempt() == attempt || (unknown && before.kind() == LockValue.Kind.DONE);
                tell(attempt, newest, before);
                return newest;
            } catch (OutcomeUnknownException e) {
                unknown = true;
                retryOrThrow(e, started);
            } catch (BackendUnavailableException e) {
                retryOrThrow(unknown ? new OutcomeUnknownException(String.valueOf(e.getMessage()), e) : e, started);
            }
        }
    }

    private void tell(long attempt, boolean newest, LockValue before) {
        worker.tell(
                StatusLevel.NORMAL,
                newest
                        ? "finished by attempt " + attempt
                        : "finished by attempt " + attempt + ", although "
                                + (before.attempt() > 0
                                        ? "attempt " + before.attempt() + " has begun"
                                        : "the key was " + (before.text().isEmpty() ? "gone" : before.text())));
    }

    private void retryOrThrow(SemaphoreException failure, long started) {
        if (connections.isClosed()) {
            throw LockConnections.closed(key);
        }
        if (pacing.nanoTime() - started > settings.lockTimeout().toNanos()) {
            throw failure;
        }
        worker.error(failure);
        try {
            pacing.pause(connections.end(), PAUSE.toNanos());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw failure;
        }
    }
}
