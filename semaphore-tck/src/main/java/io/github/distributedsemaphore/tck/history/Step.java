package io.github.distributedsemaphore.tck.history;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A part of a history that took effect at one instant of an interval. A release of several permits is several of them,
 * as these go back one by one; several permits that are granted are one.
 */
final class Step {
    /** What took effect. */
    enum Kind {
        /** Permits are taken. */
        GRANT,
        /** A permit is free again: released, lost, or its holder is dead. */
        END,
        /** There are too few. */
        REFUSAL,
        /** The limit is another. */
        RESIZE,
        /** From here on nobody knows whether some more permits are held. */
        DOUBT
    }

    final Kind kind;
    final Operation operation;
    final List<HeldSlot> slots;
    /** What an end is the end of. */
    final @Nullable Step grant;
    /** The first and the last instant at which it can have taken effect; it may not have, if the last one never comes. */
    final long from;

    final long to;

    /** Of a grant: the first instant at which one of its permits can be free again. */
    private long earliestEnd = Operation.NEVER;

    /** Its place among the calls that are under way; -1 before and after. */
    int place = -1;

    /** Whether its interval is over. */
    boolean isOver;

    private Step(Kind kind, Operation operation, List<HeldSlot> slots, @Nullable Step grant, long from, long to) {
        this.kind = kind;
        this.operation = operation;
        this.slots = slots;
        this.grant = grant;
        this.from = from;
        this.to = to;
    }

    /**
     * Tells whether another step of the same kind and size need not come before this one, where slots do not matter: the two
     * could change places, as this one's time is over first, and nothing follows from the other before that.
     */
    boolean mayPrecede(Step other) {
        return kind == other.kind
                && slots.size() == other.slots.size()
                && (to < other.to || (to == other.to && place < other.place))
                && other.earliestEnd > to;
    }

    /** A bit of its own among the calls that are under way. */
    long bit() {
        return 1L << place;
    }

    boolean isBefore(long taken) {
        return isOver || (place >= 0 && (taken & bit()) != 0);
    }

    @Override
    public String toString() {
        String who = operation.process() + " ";
        String when = " between " + operation.invoked() + " and "
                + (operation.returned() == Operation.NEVER ? "the end" : Long.toString(operation.returned()));
        return switch (kind) {
            case GRANT -> who + "was granted " + slots + when;
            case END ->
                who + "held " + slots + " no longer from " + from + " or later, "
                        + (to == Operation.NEVER ? "if ever" : "surely from " + to);
            case REFUSAL -> who + "was refused " + operation.count() + when;
            case RESIZE -> who + "set the limit to " + operation.count() + when;
            case DOUBT -> who + "does not know of " + operation.count() + when;
        };
    }

    /** Takes a history apart. A begin comes before the begin of what must follow it. */
    static List<Step> of(History history, long detectionNanos) {
        List<Step> steps = new ArrayList<>();
        IdentityHashMap<Operation, Step> grants = new IdentityHashMap<>();
        for (Operation operation : history.operations()) {
            Step step = of(operation, detectionNanos);
            if (step != null) {
                steps.add(step);
                grants.put(operation, step);
            }
        }
        for (Interval interval : Interval.of(history, detectionNanos)) {
            Step grant = grants.get(interval.grant());
            if (grant != null && interval.definiteTo() != Operation.NEVER) {
                long to = Math.max(interval.possibleTo(), grant.to);
                long from = Math.min(to, Math.max(interval.definiteTo(), grant.from));
                steps.add(new Step(Kind.END, grant.operation, List.of(interval.held()), grant, from, to));
                grant.earliestEnd = Math.min(grant.earliestEnd, from);
            }
        }
        return steps;
    }

    private static @Nullable Step of(Operation operation, long detectionNanos) {
        boolean unknown = operation.outcome() == Operation.Outcome.UNKNOWN;
        boolean left = operation.outcome() == Operation.Outcome.LEFT;
        long to = unknown ? Operation.NEVER : operation.returned() + (left ? detectionNanos : 0);
        Kind kind = switch (operation.kind()) {
            case ACQUIRE, TRY -> unknown || left ? Kind.DOUBT : operation.isGrant() ? Kind.GRANT : refusal(operation);
            case RESIZE -> unknown || operation.outcome() == Operation.Outcome.OK ? Kind.RESIZE : null;
            case RELEASE, LOSS, DEATH -> null;
        };
        return kind == null ? null : new Step(kind, operation, operation.slots(), null, operation.invoked(), to);
    }

    /** A waiter may be refused in spite of a free permit: another that came first waits for several. */
    private static @Nullable Kind refusal(Operation operation) {
        boolean refused = operation.kind() == Operation.Kind.TRY && operation.outcome() == Operation.Outcome.REFUSED;
        return refused ? Kind.REFUSAL : null;
    }
}
