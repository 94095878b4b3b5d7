package io.github.distributedsemaphore.tck.history;

import io.github.distributedsemaphore.tck.history.Operation.Kind;
import io.github.distributedsemaphore.tck.history.Operation.Outcome;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Which of the states of {@link Sometimes} a history shows, and how often. */
final class StatesReached {
    private final History history;
    private final Map<Sometimes, Long> reached = new EnumMap<>(Sometimes.class);
    private final List<Interval> definite;
    private final Set<Long> ended = new HashSet<>();
    private final Map<Long, Operation> losses = new HashMap<>();

    private StatesReached(History history) {
        this.history = history;
        this.definite =
                Interval.of(history, 0).stream().filter(Interval::isDefinite).toList();
    }

    static Map<Sometimes, Long> in(History history) {
        StatesReached states = new StatesReached(history);
        if (OverlapCheck.most(history) >= history.limit()) {
            states.count(Sometimes.ALL_HELD);
        }
        history.operations().forEach(states::look);
        history.operations().forEach(states::lookAtDeath);
        states.lookAtHolders();
        return states.reached;
    }

    private void count(Sometimes state) {
        reached.merge(state, 1L, Long::sum);
    }

    private void look(Operation operation) {
        boolean unknown = operation.outcome() == Outcome.UNKNOWN;
        boolean brokenOff = unknown || operation.outcome() == Outcome.FAILED;
        switch (operation.kind()) {
            case TRY, ACQUIRE -> {
                if (brokenOff) {
                    count(Sometimes.ACQUIRE_BROKEN_OFF);
                }
                if (unknown) {
                    count(Sometimes.ACQUIRE_UNKNOWN);
                } else if (operation.kind() == Kind.TRY && operation.outcome() == Outcome.REFUSED) {
                    count(Sometimes.REFUSED);
                }
            }
            case RELEASE -> {
                operation.slots().forEach(held -> ended.add(held.hold()));
                if (brokenOff) {
                    count(Sometimes.RELEASE_BROKEN_OFF);
                }
                if (unknown) {
                    count(Sometimes.RELEASE_UNKNOWN);
                }
                if (operation.slots().stream().anyMatch(held -> losses.containsKey(held.hold()))) {
                    count(Sometimes.RELEASED_AFTER_LOSS);
                }
            }
            case LOSS -> {
                operation.slots().forEach(held -> losses.put(held.hold(), operation));
                count(Sometimes.LOST);
            }
            default -> {}
        }
    }

    private void lookAtDeath(Operation death) {
        boolean held = death.kind() == Kind.DEATH
                && history.operations().stream()
                        .filter(operation ->
                                operation.isGrant() && operation.process().equals(death.process()))
                        .anyMatch(grant -> grant.slots().stream().noneMatch(slot -> ended.contains(slot.hold())));
        if (held) {
            count(Sometimes.KILLED_HOLDING);
        }
    }

    /** What can be seen only with all holders before one's eyes. */
    private void lookAtHolders() {
        PossibleHolds surely = new PossibleHolds(definite.stream()
                .map(it -> new Interval(
                        it.grant(), it.held(), it.definiteFrom(), it.definiteTo(), it.definiteFrom(), it.definiteTo()))
                .toList());
        LimitOverTime limits = new LimitOverTime(history);
        for (Operation operation : history.operations()) {
            int held = surely.at(operation.invoked());
            if (operation.kind() == Kind.ACQUIRE
                    && operation.isGrant()
                    && held >= limits.highestAt(operation.invoked())) {
                count(Sometimes.WAITED);
            } else if (operation.kind() == Kind.RESIZE && held > 0) {
                count(Sometimes.RESIZED_UNDER_HOLDERS);
            }
        }
        definite.stream()
                .collect(Collectors.groupingBy(interval -> interval.held().slot()))
                .values()
                .forEach(this::lookAtSlot);
    }

    private void lookAtSlot(Collection<Interval> ofSlot) {
        List<Interval> inOrder = ofSlot.stream()
                .sorted(Comparator.comparingLong(Interval::definiteFrom))
                .toList();
        for (int i = 1; i < inOrder.size(); i++) {
            Interval before = inOrder.get(i - 1);
            Interval next = inOrder.get(i);
            boolean asked = next.grant().invoked() < before.definiteTo()
                    && before.definiteTo() <= next.grant().returned();
            if (asked && ended.contains(before.held().hold())) {
                count(Sometimes.HANDED_ON);
            }
        }
    }
}
