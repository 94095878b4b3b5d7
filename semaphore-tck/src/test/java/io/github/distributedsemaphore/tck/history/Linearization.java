package io.github.distributedsemaphore.tck.history;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/** Tells by trying every order whether a small history of grants, refusals and releases can have happened. */
final class Linearization {
    private final int limit;
    private final List<Operation> operations;

    Linearization(History history) {
        this.limit = history.limit();
        this.operations = history.operations();
    }

    boolean exists() {
        return exists(new ArrayList<>(operations), new BitSet());
    }

    private boolean exists(List<Operation> left, BitSet taken) {
        if (left.stream().allMatch(operation -> operation.outcome() == Operation.Outcome.UNKNOWN)) {
            return true;
        }
        long firstReturn = left.stream()
                .filter(operation -> operation.outcome() != Operation.Outcome.UNKNOWN)
                .mapToLong(Operation::returned)
                .min()
                .orElse(Operation.NEVER);
        for (Operation next : left) {
            if (next.invoked() > firstReturn || !legal(next, left, taken)) {
                continue;
            }
            List<Operation> rest = new ArrayList<>(left);
            rest.remove(next);
            BitSet after = (BitSet) taken.clone();
            next.slots().forEach(held -> after.set(held.slot(), next.isGrant()));
            if (exists(rest, after)) {
                return true;
            }
        }
        return false;
    }

    private boolean legal(Operation next, List<Operation> left, BitSet taken) {
        if (next.outcome() == Operation.Outcome.REFUSED) {
            return taken.cardinality() + next.count() > limit;
        }
        if (next.isGrant()) {
            return taken.cardinality() < limit && next.slots().stream().noneMatch(held -> taken.get(held.slot()));
        }
        return left.stream().noneMatch(other -> other.isGrant() && other.slots().equals(next.slots()));
    }
}
