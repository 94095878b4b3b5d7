package io.github.distributedsemaphore.redis.worklock;

import java.time.Duration;

/**
 * The settings of a builder.
 *
 * @param lockTimeout for how long an attempt is left alone
 * @param maxAttempts how many attempts a job has
 * @param doneRetention how long the marker of a finished job is kept
 * @param statusLevel what {@code status} tells
 */
record WorkLockSettings(Duration lockTimeout, int maxAttempts, Duration doneRetention, StatusLevel statusLevel) {
    static final Duration DEFAULT_LOCK_TIMEOUT = Duration.ofSeconds(5);
    static final int DEFAULT_MAX_ATTEMPTS = 5;
    static final Duration DEFAULT_DONE_RETENTION = Duration.ofHours(1);

    private static final Duration MIN_LOCK_TIMEOUT = Duration.ofMillis(100);
    private static final Duration MAX_LOCK_TIMEOUT = Duration.ofDays(30);
    private static final Duration MAX_DONE_RETENTION = Duration.ofDays(3650);

    WorkLockSettings {
        requireBounds(lockTimeout);
        if (maxAttempts < 1) {
            throw new IllegalArgumentException("maxAttempts is " + maxAttempts + ", it must be at least 1");
        }
        Duration atLeast = expiry(lockTimeout);
        if (doneRetention.compareTo(atLeast) < 0 || doneRetention.compareTo(MAX_DONE_RETENTION) > 0) {
            throw new IllegalArgumentException("doneRetention is " + doneRetention + ", it must be from " + atLeast
                    + " (twice the lockTimeout, so that every waiting worker sees the marker) to "
                    + MAX_DONE_RETENTION);
        }
    }

    private static void requireBounds(Duration lockTimeout) {
        if (lockTimeout.compareTo(MIN_LOCK_TIMEOUT) < 0 || lockTimeout.compareTo(MAX_LOCK_TIMEOUT) > 0) {
            throw new IllegalArgumentException("lockTimeout is " + lockTimeout + ", it must be from " + MIN_LOCK_TIMEOUT
                    + " to " + MAX_LOCK_TIMEOUT);
        }
    }

    /** By default the marker is kept for an hour, or for as long as a worker may wait if that is longer. */
    static Duration defaultRetention(Duration lockTimeout) {
        // First: one that is refused may have no double.
        requireBounds(lockTimeout);
        Duration atLeast = expiry(lockTimeout);
        return atLeast.compareTo(DEFAULT_DONE_RETENTION) > 0 ? atLeast : DEFAULT_DONE_RETENTION;
    }

    private static Duration expiry(Duration lockTimeout) {
        return lockTimeout.multipliedBy(2);
    }

    /** After which time the key of a job that was given up is gone. */
    Duration expiry() {
        return expiry(lockTimeout);
    }
}
