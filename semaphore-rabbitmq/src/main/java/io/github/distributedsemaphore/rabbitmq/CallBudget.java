package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.Deadline;
import java.time.Duration;

/**
 * How long one call may go on taking further steps; each of them is bounded by itself.
 *
 * @param subject what the call is about
 * @param end when no further step is begun
 */
record CallBudget(String subject, Deadline end) {
    static CallBudget of(String subject, Duration time) {
        return new CallBudget(subject, Deadline.after(System.nanoTime(), time));
    }

    boolean isSpent() {
        return end.isPast(System.nanoTime());
    }

    /** Refuses a further step when the time is over. Nothing may have been changed yet that stays. */
    void requireTime() {
        if (isSpent()) {
            throw Failures.unavailable(subject + ": the broker answers too slowly", null);
        }
    }
}
