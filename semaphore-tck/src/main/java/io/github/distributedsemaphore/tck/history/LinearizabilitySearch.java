package io.github.distributedsemaphore.tck.history;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Decides whether there is an order of all calls, each at one instant between its call and its return, in which a
 * semaphore would have answered them as it did. Two views of a history are judged, see {@link View}.
 *
 * <p>It goes through the history from return to return and keeps all states in which the semaphore can be then: which of
 * the calls under way have taken effect, and what is held. A call is given its place no earlier than a return demands
 * (Lowe, "Testing for linearizability", 2017, after Wing and Gong, 1993), and a state is followed up once. So
 * nothing has to be cut, and the stretch up to one return is what is bounded: as long as few calls are under way at once
 * there are few states, however long the history is. Where there are more than the budget, nobody knows.
 *
 * <p>Exact, but for attempts whose outcome is unknown: from their call on their permits may be held or not at any instant. The
 * same is true, for the detection bound at most, of calls whose time was over while their answer was under way.
 */
final class LinearizabilitySearch {
    /** How many states may be looked at up to one return. A dozen threads that contend need some hundred. */
    static final int BUDGET = 100_000;

    private static final int MOST_UNDER_WAY = Long.SIZE - 1;
    private static final int SHOWN = 4;

    private final View view;
    private final int budget;
    private final List<Step> steps;
    private final List<Step> underWay = new ArrayList<>();
    private final Map<Integer, Long> highestEpochs = new HashMap<>();
    /** Where it found out; meaningless before. */
    private long decidedAt;

    private long places;
    private int inDoubt;
    private Set<State> states;

    /** What of a history is judged together. */
    enum View {
        /**
         * Grants, refusals and releases by number; the limit is constant. A permit may get its slot after its grant took
         * effect: who was granted one slot may be handed another that was just released, and the first goes to the next.
         */
        NUMBERS,

        /** Grants, releases and resizes by slot, with the epochs of each slot. */
        SLOTS;

        boolean shows(Step step) {
            return switch (step.kind) {
                case GRANT, END -> true;
                case REFUSAL, DOUBT -> this == NUMBERS;
                case RESIZE -> this == SLOTS;
            };
        }
    }

    /** What is decided. */
    enum Verdict {
        POSSIBLE,
        IMPOSSIBLE,
        UNKNOWN
    }

    /**
     * What came out.
     *
     * @param verdict the verdict
     * @param reason what led to it, unless the history is possible
     */
    record Result(Verdict verdict, String reason) {}

    /**
     * How it can be between two calls.
     *
     * @param taken the calls under way that have taken effect, by their places
     * @param number how many permits are held
     * @param slots the slots that are held, where these are looked at
     * @param limit the limit
     */
    private record State(long taken, int number, BitSet slots, int limit) {
        @Override
        public String toString() {
            return number + " of " + limit + " held" + (slots.isEmpty() ? "" : ", slots " + slots);
        }
    }

    private record Edge(long at, boolean ends, Step step) {}

    LinearizabilitySearch(View view, History history, long detectionNanos, int budget) {
        this.view = view;
        this.budget = budget;
        this.steps =
                Step.of(history, detectionNanos).stream().filter(view::shows).toList();
        this.states = Set.of(new State(0, 0, new BitSet(), history.limit()));
    }

    /** The violations of a history that passes all other checks; a verdict that is unknown is one. */
    static List<Violation> check(History history, long detectionNanos, boolean fencing, int budget) {
        List<Violation> violations = new ArrayList<>();
        if (new LimitOverTime(history).isConstant()) {
            violations.addAll(check("2.8", new LinearizabilitySearch(View.NUMBERS, history, detectionNanos, budget)));
        }
        if (fencing) {
            violations.addAll(check("7.1", new LinearizabilitySearch(View.SLOTS, history, detectionNanos, budget)));
        }
        return violations;
    }

    private static List<Violation> check(String rule, LinearizabilitySearch search) {
        Result result = search.run();
        return result.verdict() == Verdict.POSSIBLE
                ? List.of()
                : List.of(new Violation(rule, search.decidedAt, result.reason()));
    }

    /** Decides. Once only. */
    Result run() {
        for (Edge edge : edges()) {
            Optional<Result> found = edge.ends() ? end(edge.step()) : begin(edge.step());
            if (found.isPresent()) {
                decidedAt = edge.at();
                return found.get();
            }
        }
        return new Result(Verdict.POSSIBLE, "");
    }

    /** At one instant beginnings come first: so calls that touch may really have been in either order. */
    private List<Edge> edges() {
        List<Edge> edges = new ArrayList<>();
        for (Step step : steps) {
            edges.add(new Edge(step.from, false, step));
            if (step.to != Operation.NEVER) {
                edges.add(new Edge(step.to, true, step));
            }
        }
        edges.sort(Comparator.comparingLong(Edge::at).thenComparing(Edge::ends));
        return edges;
    }

    private Optional<Result> begin(Step step) {
        if (step.kind == Step.Kind.DOUBT) {
            inDoubt += step.operation.count();
        } else if (underWay.size() == MOST_UNDER_WAY) {
            return unknown("more than " + MOST_UNDER_WAY + " calls were under way at " + step.from);
        } else {
            step.place = Long.numberOfTrailingZeros(~places);
            places |= step.bit();
            underWay.add(step);
        }
        if (step.kind == Step.Kind.DOUBT || step.kind == Step.Kind.REFUSAL) {
            states = states.stream().map(this::withRefusals).collect(Collectors.toCollection(LinkedHashSet::new));
        }
        return Optional.empty();
    }

    /** Keeps the states in which a call has taken effect, with what others can have done before. */
    private Optional<Result> end(Step step) {
        if (step.kind == Step.Kind.DOUBT) {
            inDoubt -= step.operation.count();
            return Optional.empty();
        }
        Set<State> reached = new LinkedHashSet<>();
        Set<State> seen = new HashSet<>(states);
        Deque<State> next = new ArrayDeque<>(states);
        while (!next.isEmpty()) {
            State state = next.remove();
            if (step.isBefore(state.taken())) {
                reached.add(new State(state.taken() & ~step.bit(), state.number(), state.slots(), state.limit()));
                continue;
            }
            for (State then : following(state)) {
                if (seen.add(then)) {
                    next.add(then);
                }
            }
            if (seen.size() > budget) {
                return unknown("there are more than " + budget + " states, the budget of the search, before " + step);
            }
        }
        if (reached.isEmpty()) {
            return Optional.of(new Result(Verdict.IMPOSSIBLE, impossible(step)));
        }
        forget(step);
        states = reached;
        return Optional.empty();
    }

    private void forget(Step step) {
        places &= ~step.bit();
        underWay.remove(step);
        step.place = -1;
        step.isOver = true;
        if (step.kind == Step.Kind.GRANT) {
            step.slots.forEach(held -> highestEpochs.merge(held.slot(), held.epoch(), Math::max));
        }
    }

    private List<State> following(State state) {
        List<State> following = new ArrayList<>();
        List<Step> possible = underWay.stream()
                .filter(step -> !step.isBefore(state.taken()) && isLegal(step, state))
                .toList();
        for (Step step : possible) {
            if (view == View.SLOTS || possible.stream().noneMatch(other -> other.mayPrecede(step))) {
                following.add(withRefusals(after(state, step)));
            }
        }
        return following;
    }

    private boolean isLegal(Step step, State state) {
        return switch (step.kind) {
            case GRANT ->
                view == View.NUMBERS
                        ? state.number() + step.slots.size() <= state.limit()
                        : step.slots.stream().allMatch(held -> isFree(held, state) && rises(held, state));
            case END -> step.grant != null && step.grant.isBefore(state.taken());
            case REFUSAL -> state.number() + inDoubt + step.operation.count() > state.limit();
            case RESIZE -> true;
            case DOUBT -> false;
        };
    }

    private static boolean isFree(HeldSlot held, State state) {
        return held.slot() >= 1
                && held.slot() <= state.limit()
                && !state.slots().get(held.slot());
    }

    /** Whether nobody had the slot before under this epoch or a greater one. */
    private boolean rises(HeldSlot held, State state) {
        return highestEpochs.getOrDefault(held.slot(), Long.MIN_VALUE) < held.epoch()
                && underWay.stream()
                        .filter(step -> step.kind == Step.Kind.GRANT && step.isBefore(state.taken()))
                        .flatMap(step -> step.slots.stream())
                        .noneMatch(other -> other.slot() == held.slot() && other.epoch() >= held.epoch());
    }

    private State after(State state, Step step) {
        long taken = state.taken() | step.bit();
        if (step.kind == Step.Kind.RESIZE) {
            return new State(taken, state.number(), state.slots(), step.operation.count());
        }
        boolean grants = step.kind == Step.Kind.GRANT;
        BitSet slots = state.slots();
        if (view == View.SLOTS) {
            slots = (BitSet) slots.clone();
            for (HeldSlot held : step.slots) {
                slots.set(held.slot(), grants);
            }
        }
        int number = state.number() + (grants ? step.slots.size() : -step.slots.size());
        return new State(taken, number, slots, state.limit());
    }

    /** A refusal changes nothing, so it takes effect as soon as it can. */
    private State withRefusals(State state) {
        long taken = state.taken();
        for (Step step : underWay) {
            if (step.kind == Step.Kind.REFUSAL && isLegal(step, state)) {
                taken |= step.bit();
            }
        }
        return new State(taken, state.number(), state.slots(), state.limit());
    }

    private static Optional<Result> unknown(String why) {
        return Optional.of(new Result(
                Verdict.UNKNOWN,
                "nobody knows whether the history is possible, so it counts as if it were not: " + why));
    }

    private String impossible(Step step) {
        return "no order of the calls explains that " + step + ". Before that, " + first(states)
                + "; the other calls under way: "
                + first(underWay.stream().filter(other -> other != step).toList());
    }

    private static String first(Collection<?> all) {
        String shown = all.stream().limit(SHOWN).map(Object::toString).collect(Collectors.joining(", or "));
        return all.isEmpty() ? "none" : shown + (all.size() > SHOWN ? ", and " + (all.size() - SHOWN) + " more" : "");
    }
}
