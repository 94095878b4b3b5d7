package io.github.distributedsemaphore.tck.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Safety: at no instant more definite holders than the highest limit possibly in force, and never two in one slot. For a
 * history of grants and releases this is not only necessary but exact: if every grant is put at its return and every
 * release at its call, the fewest permits are held.
 */
final class OverlapCheck {
    private OverlapCheck() {}

    static List<Violation> check(History history) {
        return check(history, (process, from, to) -> false);
    }

    static List<Violation> check(History history, HistoryChecks.Excuse excuse) {
        List<Interval> definite = new ArrayList<>(
                Interval.of(history, 0).stream().filter(Interval::isDefinite).toList());
        excuse(definite, excuse);
        List<Violation> violations = new ArrayList<>();
        violations.addAll(slots(definite));
        violations.addAll(removedSlots(history));
        violations.addAll(sweep(definite, new LimitOverTime(history)));
        return violations;
    }

    /** Has a holder whose overlap is excused hold until it began. What it hid is seen then, and may be excused too. */
    private static void excuse(List<Interval> definite, HistoryChecks.Excuse excuse) {
        for (int excused = 1; excused > 0; ) {
            excused = 0;
            for (Overlap overlap : overlaps(definite)) {
                Interval first = overlap.first();
                if (excuse.covers(first.grant().process(), overlap.from(), overlap.to()) && definite.remove(first)) {
                    definite.add(first.endingAt(overlap.from()));
                    excused++;
                }
            }
        }
    }

    /** The greatest number of definite holders at one instant. */
    static int most(History history) {
        int now = 0;
        int most = 0;
        List<Interval> definite =
                Interval.of(history, 0).stream().filter(Interval::isDefinite).toList();
        for (Edge edge : edges(definite)) {
            most = Math.max(most, edge.step() == Step.END ? 0 : now + 1);
            now += edge.step() == Step.BEGIN ? 1 : edge.step() == Step.END ? -1 : 0;
        }
        return most;
    }

    /** For how long at most two held one slot; {@link Operation#NEVER} if both did to the end. */
    static long longest(History history) {
        return overlaps(Interval.of(history, 0)).stream()
                .mapToLong(Overlap::length)
                .max()
                .orElse(0);
    }

    /** Two that definitely held one slot at a time; the second began while the first held. */
    record Overlap(Interval first, Interval second) {
        long from() {
            return second.definiteFrom();
        }

        long to() {
            return Math.min(first.definiteTo(), second.definiteTo());
        }

        long length() {
            return to() == Operation.NEVER ? Operation.NEVER : to() - from();
        }
    }

    static List<Overlap> overlaps(List<Interval> intervals) {
        List<Overlap> overlaps = new ArrayList<>();
        Map<Integer, Interval> last = new HashMap<>();
        for (Interval interval : byBeginning(intervals)) {
            if (!interval.isDefinite()) {
                continue;
            }
            Interval before = last.get(interval.held().slot());
            if (before != null && before.definiteTo() > interval.definiteFrom()) {
                overlaps.add(new Overlap(before, interval));
            }
            if (before == null || before.definiteTo() < interval.definiteTo()) {
                last.put(interval.held().slot(), interval);
            }
        }
        return overlaps;
    }

    private static List<Interval> byBeginning(List<Interval> intervals) {
        return intervals.stream()
                .sorted(Comparator.comparingLong(Interval::definiteFrom).thenComparingLong(Interval::definiteTo))
                .toList();
    }

    private static List<Violation> sweep(List<Interval> definite, LimitOverTime limits) {
        List<Violation> violations = new ArrayList<>();
        Map<Long, Interval> now = new TreeMap<>();
        for (Edge edge : edges(definite)) {
            long hold = edge.interval().held().hold();
            if (edge.step() == Step.END) {
                now.remove(hold);
                continue;
            }
            now.put(hold, edge.interval());
            int limit = limits.highestAt(edge.at());
            // Holders of removed slots keep them, and nobody gets one: they do not count.
            List<Interval> counted = limits.isConstant()
                    ? List.copyOf(now.values())
                    : now.values().stream()
                            .filter(interval -> interval.held().slot() <= limit)
                            .toList();
            if (counted.size() > limit) {
                violations.add(new Violation(
                        "1.2",
                        edge.at(),
                        counted.size() + " hold at " + edge.at() + " where the limit is " + limit + ": " + counted));
            }
            if (edge.step() == Step.POINT) {
                now.remove(hold);
            }
        }
        return violations;
    }

    private static List<Violation> slots(List<Interval> definite) {
        return overlaps(definite).stream()
                .map(overlap -> new Violation(
                        "1.2", overlap.from(), "two hold one slot: " + overlap.first() + "; " + overlap.second()))
                .toList();
    }

    /** Slots that were granted although they are none: no overlap of holders explains them. */
    static List<Violation> removedSlots(History history) {
        LimitOverTime limits = new LimitOverTime(history);
        List<Violation> violations = new ArrayList<>();
        for (Operation grant : history.operations()) {
            if (!grant.isGrant()) {
                continue;
            }
            int limit = limits.highestWithin(grant.invoked(), grant.returned());
            for (HeldSlot held : grant.slots()) {
                if (held.slot() > limit || held.slot() < 1) {
                    violations.add(new Violation(
                            "1.2",
                            grant.returned(),
                            "slot " + held.slot() + " was granted where the limit is " + limit + ": " + grant));
                }
            }
        }
        return violations;
    }

    /** At one instant ends come first, then holds of no length, then beginnings: so they may really have followed. */
    private enum Step {
        END,
        POINT,
        BEGIN
    }

    private record Edge(long at, Step step, Interval interval) {}

    private static List<Edge> edges(List<Interval> definite) {
        List<Edge> edges = new ArrayList<>();
        for (Interval interval : definite) {
            if (interval.definiteFrom() == interval.definiteTo()) {
                edges.add(new Edge(interval.definiteFrom(), Step.POINT, interval));
            } else {
                edges.add(new Edge(interval.definiteFrom(), Step.BEGIN, interval));
                edges.add(new Edge(interval.definiteTo(), Step.END, interval));
            }
        }
        edges.sort(Comparator.comparingLong(Edge::at).thenComparing(Edge::step));
        return edges;
    }
}
