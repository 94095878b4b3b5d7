package io.github.distributedsemaphore.rabbitmq.net;

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
public record CallBudget(String subject, long start, Duration whole) {
    public static CallBudget of(String subject, Duration whole) {
        return new CallBudget(subject, System.nanoTime(), whole);
    }

    /** When the last answer has to be there. */
    public Deadline end() {
        return Deadline.after(start, whole);
    }

    /** How long to wait for what can be done in another way or be undone: half of the time, and not into its last eighth. */
    public Deadline patience() {
        return patience(whole.dividedBy(2));
    }

    /** How long to wait for the next answer to probes: a step is left to look in another way if there is none. */
    public Duration probing() {
        return whole.dividedBy(4);
    }

    /** How long to wait for what can be done in another way or be undone, but at most for so long. */
    public Deadline patience(Duration most) {
        return Deadline.after(start, whole.multipliedBy(7).dividedBy(8))
                .earlier(Deadline.after(System.nanoTime(), most));
    }

    /** Whether what took the time so far might not be done again. */
    public boolean isHalfOver() {
        return Deadline.after(start, whole.dividedBy(2)).isPast(System.nanoTime());
    }

    /** Whether no further step of a search is begun. */
    public boolean isSpent() {
        return Deadline.after(start, whole.multipliedBy(5).dividedBy(8)).isPast(System.nanoTime());
    }

    /** Whether there is only time left for putting things right. */
    public boolean isNearlyOver() {
        return Deadline.after(start, whole.multipliedBy(7).dividedBy(8)).isPast(System.nanoTime());
    }

    /** Refuses a further step when the time for steps is over. Nothing may have been changed yet that stays. */
    public void requireTime() {
        if (isSpent()) {
            throw Failures.unavailable(subject + ": the broker answers too slowly", null);
        }
    }
}
