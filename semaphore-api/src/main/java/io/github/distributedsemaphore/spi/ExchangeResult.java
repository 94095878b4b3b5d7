package io.github.distributedsemaphore.spi;

import io.github.distributedsemaphore.Deadline;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;

/**
 * What an exchange did.
 *
 * @param lost those of the holds to give back that were not held any more; all others are given back now
 * @param answers an answer for each want, in their order
 * @param validUntil until when the granted holds are sure: counted from before the request was sent
 * @param recheck when a slot may become free without a hint, such as the earliest known end of a holder that does not
 *     renew; {@link Deadline#NEVER} if nothing is known
 * @param othersWaiting whether other clients may be waiting for this semaphore. After its run of local hand-offs the engine
 *     then leaves them a turn before it takes again. A backend that cannot know answers true
 * @param sent when the request that decided was sent, by {@link System#nanoTime}: from then on its slots may pass from thread
 *     to thread for a while. Empty if it was sent at once; a backend that first looked, waited or was overtaken says it
 */
public record ExchangeResult(
        Set<Hold> lost,
        List<Answer> answers,
        Deadline validUntil,
        Deadline recheck,
        boolean othersWaiting,
        OptionalLong sent) {
    /**
     * Keeps unmodifiable copies.
     *
     * @param lost see the record
     * @param answers see the record
     * @param validUntil see the record
     * @param recheck see the record
     * @param othersWaiting see the record
     * @param sent see the record
     */
    public ExchangeResult {
        lost = Set.copyOf(lost);
        answers = List.copyOf(answers);
    }

    /**
     * Makes the result of an exchange that was sent at once.
     *
     * @param lost see the record
     * @param answers see the record
     * @param validUntil see the record
     * @param recheck see the record
     * @param othersWaiting see the record
     */
    public ExchangeResult(
            Set<Hold> lost, List<Answer> answers, Deadline validUntil, Deadline recheck, boolean othersWaiting) {
        this(lost, answers, validUntil, recheck, othersWaiting, OptionalLong.empty());
    }
}
