package io.github.distributedsemaphore.tck.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Fencing: the epochs of a slot are all different, and a grant that was asked for after another was reported has the
 * greater one.
 */
final class FenceCheck {
    private FenceCheck() {}

    private record Grant(Operation operation, HeldSlot held) {}

    static List<Violation> check(History history) {
        Map<Integer, List<Grant>> bySlot = new TreeMap<>();
        for (Operation operation : history.operations()) {
            if (operation.isGrant()) {
                for (HeldSlot held : operation.slots()) {
                    bySlot.computeIfAbsent(held.slot(), key -> new ArrayList<>())
                            .add(new Grant(operation, held));
                }
            }
        }
        List<Violation> violations = new ArrayList<>();
        bySlot.values().forEach(grants -> violations.addAll(ofSlot(grants)));
        return violations;
    }

    private static List<Violation> ofSlot(List<Grant> byCall) {
        List<Violation> violations = new ArrayList<>();
        Map<Long, Grant> byEpoch = new HashMap<>();
        List<Grant> byReturn = byCall.stream()
                .sorted(Comparator.comparingLong(grant -> grant.operation().returned()))
                .toList();
        int reported = 0;
        Grant highest = null;
        for (Grant grant : byCall) {
            while (reported < byReturn.size()
                    && byReturn.get(reported).operation().returned()
                            < grant.operation().invoked()) {
                Grant before = byReturn.get(reported++);
                highest = highest == null
                                || before.held().epoch() > highest.held().epoch()
                        ? before
                        : highest;
            }
            if (highest != null && highest.held().epoch() >= grant.held().epoch()) {
                violations.add(violation("does not rise", highest, grant));
            }
            Grant same = byEpoch.putIfAbsent(grant.held().epoch(), grant);
            if (same != null) {
                violations.add(violation("is not unique", same, grant));
            }
        }
        return violations;
    }

    private static Violation violation(String what, Grant first, Grant second) {
        return new Violation(
                "7.1",
                second.operation().returned(),
                "the epoch of slot " + first.held().slot() + " " + what + ": "
                        + first.operation().process() + " was told "
                        + first.held().epoch() + " at "
                        + first.operation().returned() + ", "
                        + second.operation().process() + " asked at "
                        + second.operation().invoked() + " and was told "
                        + second.held().epoch());
    }
}
