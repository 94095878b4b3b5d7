package io.github.distributedsemaphore.tck.report;

import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.Operation;
import io.github.distributedsemaphore.tck.history.Operation.Kind;
import io.github.distributedsemaphore.tck.history.Operation.Outcome;
import java.time.Duration;
import java.util.function.Predicate;

/**
 * What a recorded history came to, in numbers.
 *
 * @param shape which faults were brought about meanwhile
 * @param strikes how many of them took effect
 * @param millis how long it took
 * @param operations how many operations were recorded
 * @param grants how many of them took permits
 * @param refusals how many of them were refused
 * @param failures how many of them failed, with certainty that nothing was done
 * @param unknowns of how many nobody knows what became of them
 * @param losses how many permits were told to be lost
 * @param deaths how many processes were killed
 * @param resizes how often the limit was changed
 * @param mostHeld how many permits at most were surely held at one instant
 * @param longestOverlapNanos for how long at most two holders of one slot were both entitled to it
 * @param violations how many operations broke a rule beyond what the backend declares as its exposure
 */
public record HistoryFigures(
        String shape,
        int strikes,
        long millis,
        long operations,
        long grants,
        long refusals,
        long failures,
        long unknowns,
        long losses,
        long deaths,
        long resizes,
        int mostHeld,
        long longestOverlapNanos,
        int violations) {
    /**
     * Counts.
     *
     * @param shape see the record
     * @param strikes see the record
     * @param length how long it took
     * @param history what happened
     * @param violations see the record
     * @return the figures
     */
    public static HistoryFigures of(String shape, int strikes, Duration length, History history, int violations) {
        return new HistoryFigures(
                shape,
                strikes,
                length.toMillis(),
                history.operations().size(),
                count(history, Operation::isGrant),
                count(history, it -> it.outcome() == Outcome.REFUSED),
                count(history, it -> it.outcome() == Outcome.FAILED),
                count(history, it -> it.outcome() == Outcome.UNKNOWN),
                count(history, it -> it.kind() == Kind.LOSS),
                count(history, it -> it.kind() == Kind.DEATH),
                count(history, it -> it.kind() == Kind.RESIZE),
                HistoryChecks.mostHeld(history),
                HistoryChecks.longestOverlap(history).toNanos(),
                violations);
    }

    private static long count(History history, Predicate<Operation> counted) {
        return history.operations().stream().filter(counted).count();
    }

    /**
     * Says it in a line.
     *
     * @return the figures that matter most
     */
    public String line() {
        return shape + ": " + strikes + " faults in " + millis + " ms, " + operations + " operations, " + grants
                + " grants, " + unknowns + " unknown, " + losses + " lost, longest overlap " + longestOverlapNanos
                + " ns, " + violations + " violations";
    }
}
