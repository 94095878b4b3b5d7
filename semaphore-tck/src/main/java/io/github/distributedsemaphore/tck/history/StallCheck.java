package io.github.distributedsemaphore.tck.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;

/**
 * Liveness: how long permits that a waiter wanted lay free without anybody's being let in. Permits count as held from the
 * return of their acquire to the return of their release, so a stall is only seen where nobody can have held them.
 */
final class StallCheck {
    private StallCheck() {}

    private record Edge(long at, Operation operation, boolean begins) {}

    /** The longest stall in nanoseconds; 0 if there was none. */
    static long longest(History history) {
        if (!new LimitOverTime(history).isConstant()) {
            throw new IllegalArgumentException("stalls are found under a constant limit only");
        }
        TreeMap<Integer, Integer> waiting = new TreeMap<>();
        int held = 0;
        long idleSince = Operation.NEVER;
        long longest = 0;
        for (Edge edge : edges(history)) {
            if (idleSince != Operation.NEVER) {
                longest = Math.max(longest, edge.at() - idleSince);
            }
            Operation operation = edge.operation();
            boolean progress = false;
            if (operation.kind() == Operation.Kind.RELEASE) {
                held -= operation.slots().size();
            } else if (operation.kind() == Operation.Kind.TRY) {
                held += operation.count();
                progress = true;
            } else if (edge.begins()) {
                waiting.merge(operation.count(), 1, Integer::sum);
            } else {
                waiting.merge(operation.count(), -1, (a, b) -> a + b == 0 ? null : a + b);
                held += operation.isGrant() ? operation.count() : 0;
                progress = operation.isGrant();
            }
            boolean idle = !waiting.isEmpty() && held + waiting.firstKey() <= history.limit();
            if (!idle) {
                idleSince = Operation.NEVER;
            } else if (progress || idleSince == Operation.NEVER) {
                idleSince = edge.at();
            }
        }
        return longest;
    }

    private static List<Edge> edges(History history) {
        List<Edge> edges = new ArrayList<>();
        for (Operation operation : history.operations()) {
            switch (operation.kind()) {
                case ACQUIRE -> {
                    edges.add(new Edge(operation.invoked(), operation, true));
                    edges.add(new Edge(operation.returned(), operation, false));
                }
                case RELEASE -> edges.add(new Edge(operation.returned(), operation, false));
                case TRY -> {
                    if (operation.isGrant()) {
                        edges.add(new Edge(operation.returned(), operation, false));
                    }
                }
                default -> {}
            }
        }
        edges.sort(Comparator.comparingLong(Edge::at));
        return edges;
    }
}
