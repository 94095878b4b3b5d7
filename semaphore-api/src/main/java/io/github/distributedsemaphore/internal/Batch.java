package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import java.util.List;

/**
 * One exchange and everybody it is done for.
 *
 * @param releases the holds to give back
 * @param waiters the callers that want permits, in the order of the request: first those with one attempt
 * @param request what is asked
 * @param generation the session it was collected for
 * @param sent when, in nanoseconds of the environment
 */
record Batch(
        List<PendingRelease> releases, List<AcquireCall> waiters, ExchangeRequest request, int generation, long sent) {
    static Batch of(
            List<PendingRelease> releases,
            List<AcquireCall> waiters,
            int epochs,
            boolean waiting,
            int generation,
            long sent) {
        ExchangeRequest request = new ExchangeRequest(
                releases.stream().map(release -> release.hold().hold()).toList(),
                waiters.stream().map(AcquireCall::wanted).toList(),
                epochs,
                waiting,
                (int) waiters.stream().takeWhile(AcquireCall::isOnce).count());
        return new Batch(List.copyOf(releases), List.copyOf(waiters), request, generation, sent);
    }

    /** Ends the calls that had one attempt, unless they have ended. */
    void failAttempts(RuntimeException failure) {
        waiters.stream()
                .filter(AcquireCall::isOnce)
                .filter(waiter -> !waiter.isDone())
                .forEach(waiter -> waiter.fail(failure));
    }

    /** Returns an answer that fits the request; one that does not says nothing about what was done. */
    ExchangeResult checked(ExchangeResult result) {
        List<Integer> wants = request.wants();
        boolean fits = result.answers().size() == wants.size();
        for (int i = 0; fits && i < wants.size(); i++) {
            fits = !(result.answers().get(i) instanceof Answer.Granted granted)
                    || granted.holds().size() == wants.get(i);
        }
        if (!fits) {
            throw new IllegalStateException("the backend answered " + result.answers() + " to wants of " + wants);
        }
        return result;
    }
}
