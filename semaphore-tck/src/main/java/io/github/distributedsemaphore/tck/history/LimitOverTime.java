package io.github.distributedsemaphore.tck.history;

import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Which limits may have been in force when. */
final class LimitOverTime {
    private final int first;
    private final List<Operation> resizes;

    LimitOverTime(History history) {
        this.first = history.limit();
        this.resizes = history.operations().stream()
                .filter(operation -> operation.kind() == Operation.Kind.RESIZE)
                .filter(operation ->
                        operation.outcome() == Operation.Outcome.OK || operation.outcome() == Operation.Outcome.UNKNOWN)
                .toList();
    }

    boolean isConstant() {
        return resizes.isEmpty();
    }

    /** The instants at which the possible limits change. */
    LongStream changes() {
        return resizes.stream().flatMapToLong(resize -> LongStream.of(resize.invoked(), resize.returned()));
    }

    int highestAt(long instant) {
        return possibleAt(instant).max(Integer::compare).orElse(first);
    }

    int lowestAt(long instant) {
        return possibleAt(instant).min(Integer::compare).orElse(first);
    }

    /** The highest limit that may have been in force at some instant of an interval. */
    int highestWithin(long from, long to) {
        int highest = Math.max(highestAt(from), highestAt(to));
        for (Operation resize : resizes) {
            if (resize.invoked() >= from && resize.invoked() <= to) {
                highest = Math.max(highest, resize.count());
            }
        }
        return highest;
    }

    private Stream<Integer> possibleAt(long instant) {
        Stream<Integer> beginning = overwritten(Long.MIN_VALUE, instant) ? Stream.of() : Stream.of(first);
        return Stream.concat(
                beginning,
                resizes.stream()
                        .filter(resize -> resize.invoked() <= instant && !overwritten(resize.returned(), instant))
                        .map(Operation::count));
    }

    /** Whether what was set by an instant is surely replaced at another: a whole resize lies between. */
    private boolean overwritten(long set, long instant) {
        return resizes.stream()
                .anyMatch(other ->
                        other.outcome() == Operation.Outcome.OK && other.invoked() > set && other.returned() < instant);
    }
}
