package io.github.distributedsemaphore.tck.history;

import io.github.distributedsemaphore.tck.history.Operation.Kind;
import io.github.distributedsemaphore.tck.history.Operation.Outcome;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Tells by trying every order whether a small history of grants, refusals, releases and resizes can have happened. */
final class Linearization {
    private final int limit;
    private final View view;
    private final List<Operation> operations;

    Linearization(History history) {
        this(history, View.SLOTS);
    }

    Linearization(History history, View view) {
        this.limit = history.limit();
        this.view = view;
        this.operations =
                history.operations().stream().flatMap(it -> split(it).stream()).toList();
    }

    /** What of it is judged. */
    enum View {
        NUMBERS,
        SLOTS,
        SLOTS_AND_EPOCHS
    }

    /** Several permits are granted at one instant and go back one by one. */
    private static List<Operation> split(Operation operation) {
        return operation.kind() != Kind.RELEASE
                ? List.of(operation)
                : operation.slots().stream()
                        .map(held -> RandomHistories.release(
                                operation.process(),
                                operation.invoked(),
                                operation.returned(),
                                operation.outcome(),
                                held))
                        .toList();
    }

    boolean exists() {
        return exists(operations, List.of());
    }

    private boolean exists(List<Operation> left, List<Operation> done) {
        if (left.stream().allMatch(operation -> operation.outcome() == Outcome.UNKNOWN)) {
            return true;
        }
        long firstReturn = left.stream()
                .filter(operation -> operation.outcome() != Outcome.UNKNOWN)
                .mapToLong(Operation::returned)
                .min()
                .orElse(Operation.NEVER);
        for (Operation next : left) {
            if (next.invoked() > firstReturn || !legal(next, done)) {
                continue;
            }
            List<Operation> rest = new ArrayList<>(left);
            rest.remove(next);
            List<Operation> then = new ArrayList<>(done);
            then.add(next);
            if (exists(rest, then)) {
                return true;
            }
        }
        return false;
    }

    private boolean legal(Operation next, List<Operation> done) {
        int now = limit;
        int number = 0;
        TreeSet<Integer> taken = new TreeSet<>();
        Map<Integer, Long> epochs = new HashMap<>();
        for (Operation before : done) {
            now = before.kind() == Kind.RESIZE ? before.count() : now;
            number += before.isGrant() ? before.slots().size() : -before.slots().size();
            for (HeldSlot held : before.slots()) {
                if (before.isGrant()) {
                    taken.add(held.slot());
                    epochs.put(held.slot(), held.epoch());
                } else {
                    taken.remove(held.slot());
                }
            }
        }
        if (next.kind() == Kind.RESIZE) {
            return true;
        } else if (next.outcome() == Outcome.REFUSED) {
            return now - number < next.count();
        } else if (next.kind() == Kind.RELEASE) {
            return done.stream()
                    .anyMatch(before -> before.isGrant() && before.slots().containsAll(next.slots()));
        }
        int last = now;
        boolean byNumber = number + next.slots().size() <= now;
        boolean bySlot = next.slots().stream()
                .allMatch(held -> held.slot() <= last
                        && !taken.contains(held.slot())
                        && (view != View.SLOTS_AND_EPOCHS
                                || epochs.getOrDefault(held.slot(), Long.MIN_VALUE) < held.epoch()));
        return view == View.NUMBERS ? byNumber : bySlot;
    }
}
