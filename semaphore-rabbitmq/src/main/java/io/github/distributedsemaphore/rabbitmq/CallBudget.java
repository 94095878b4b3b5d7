package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.Deadline;
import java.time.Duration;

/**
 * The time of one call, the same for all that it does. In its first five eighths the call takes steps; two eighths more they may
 * still be answered; the last eighth is for putting right what is not to stay. At the end a request without answer costs its
 * connection, so that the call ends in time, whatever the broker does.
 *
 * @param subject what the call is about
 * @param start when it began, by {@link System#nanoTime}
 * @param whole how long it may last
 */
record CallBudget(String subject, long start, Duration whole) {
    static CallBudget of(String subject, Duration whole) {
        return new CallBudget(subject, System.nanoTime(), whole);
    }

    /** When the last answer has to be there. */
    Deadline end() {
        return Deadline.after(start, whole);
    }

    /** How long to wait for what can be done in another way or be undone: half of the time, and not into its last eighth. */
    Deadline patience() {
        return patience(whole.dividedBy(2));
    }

    /** How long to wait for the next answer to probes: a step is left to look in another way if there is none. */
    Duration probing() {
        return whole.dividedBy(4);
    }

    /** How long to wait for what can be done in another way or be undone, but at most for so long. */
    Deadline patience(Duration most) {
        return Deadline.after(start, whole.multipliedBy(7).dividedBy(8))
                .earlier(Deadline.after(System.nanoTime(), most));
    }

    /** Whether what took the time so far might not be done again. */
    boolean isHalfOver() {
        return Deadline.after(start, whole.dividedBy(2)).isPast(System.nanoTime());
    }

    /** Whether no further step of a search is begun. */
    boolean isSpent() {
        return Deadline.after(start, whole.multipliedBy(5).dividedBy(8)).isPast(System.nanoTime());
    }

    /** Whether there is only time left for putting things right. */
    boolean isNearlyOver() {
        return Deadline.after(start, whole.multipliedBy(7).dividedBy(8)).isPast(System.nanoTime());
    }

    /** Refuses a further step when the time for steps is over. Nothing may have been changed yet that stays. */
    void requireTime() {
        if (isSpent()) {
            throw Failures.unavailable(subject + ": the broker answers too slowly", null);
        }
    }
}
