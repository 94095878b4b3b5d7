package io.github.distributedsemaphore.tck.history;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/**
 * No false refusal: an attempt for n permits that was refused needs an instant during the call at which more than limit
 * minus n permits may have been held. Necessary, not sufficient: each refusal is judged alone.
 */
final class RefusalCheck {
    private RefusalCheck() {}

    static List<Violation> check(History history, long detectionNanos) {
        List<Interval> intervals = Interval.of(history, detectionNanos);
        intervals.addAll(unknown(history, detectionNanos));
        PossibleHolds possible = new PossibleHolds(intervals);
        LimitOverTime limits = new LimitOverTime(history);
        List<Violation> violations = new ArrayList<>();
        for (Operation attempt : history.operations()) {
            boolean refused = attempt.kind() == Operation.Kind.TRY && attempt.outcome() == Operation.Outcome.REFUSED;
            if (refused && !explained(attempt, possible, limits)) {
                violations.add(new Violation(
                        "2.8",
                        attempt.returned(),
                        attempt.process() + " was refused " + attempt.count() + " between " + attempt.invoked()
                                + " and "
                                + attempt.returned() + " although at most "
                                + possible.mostWithin(attempt.invoked(), attempt.returned())
                                + " can have been held under the limit " + history.limit()));
            }
        }
        return violations;
    }

    /** Attempts whose outcome nobody knows may hold their permits from the call on; those that left, until these are back. */
    private static List<Interval> unknown(History history, long detectionNanos) {
        List<Interval> intervals = new ArrayList<>();
        for (Operation operation : history.operations()) {
            boolean acquires = operation.kind() == Operation.Kind.ACQUIRE || operation.kind() == Operation.Kind.TRY;
            boolean left = operation.outcome() == Operation.Outcome.LEFT;
            if (acquires && (left || operation.outcome() == Operation.Outcome.UNKNOWN)) {
                for (int i = 0; i < operation.count(); i++) {
                    intervals.add(new Interval(
                            operation,
                            new HeldSlot(-1, 0, HeldSlot.NO_EPOCH),
                            Operation.NEVER,
                            Operation.NEVER,
                            operation.invoked(),
                            left ? operation.returned() + detectionNanos : Operation.NEVER));
                }
            }
        }
        return intervals;
    }

    private static boolean explained(Operation attempt, PossibleHolds possible, LimitOverTime limits) {
        if (limits.isConstant()) {
            return possible.mostWithin(attempt.invoked(), attempt.returned())
                    > limits.lowestAt(attempt.invoked()) - attempt.count();
        }
        return LongStream.concat(
                        LongStream.of(attempt.invoked(), attempt.returned()),
                        LongStream.concat(possible.changes(), limits.changes()))
                .filter(instant -> instant >= attempt.invoked() && instant <= attempt.returned())
                .anyMatch(instant -> possible.at(instant) > limits.lowestAt(instant) - attempt.count());
    }
}
