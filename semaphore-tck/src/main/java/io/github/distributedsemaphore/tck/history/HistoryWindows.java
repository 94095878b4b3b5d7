package io.github.distributedsemaphore.tck.history;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;
import java.util.stream.Collectors;

/**
 * What a page shows of a history: how many slots were held over its whole time, and windows around violations, overlaps, losses
 * and faults. Its size is bounded whatever the length of the history. All instants count nanoseconds from the first call.
 * Immutable.
 *
 * @param title what the history is of
 * @param length how long it took, in nanoseconds
 * @param held the mean number of slots that were surely held, in {@value #COLUMNS} equal parts of the length
 * @param limits the limit by the instant from which it holds, in order
 * @param faults the faults that struck, in order
 * @param windows the windows, the most important one first
 * @param violations what is wrong, in words
 */
public record HistoryWindows(
        String title,
        long length,
        List<Double> held,
        Map<Long, Integer> limits,
        List<Span> faults,
        List<Window> windows,
        List<String> violations) {
    static final int COLUMNS = 240;
    private static final int MOST_HOLDS = 60;
    private static final int MOST_WORDS = 2_000;
    private static final int MOST_VIOLATIONS = 10;
    private static final long BEFORE = 50_000_000;
    private static final long AFTER = 100_000_000;
    private static final long NARROWEST = 100_000;

    /**
     * A piece of time.
     *
     * @param from its first instant
     * @param to its last instant
     */
    public record Span(long from, long to) {
        boolean meets(long otherFrom, long otherTo) {
            return from <= otherTo && to >= otherFrom;
        }
    }

    /**
     * A piece of a history.
     *
     * @param reason why it is shown, in words
     * @param broken whether a rule is broken in it
     * @param from its first instant
     * @param to its last instant
     * @param holds the permits that were held in it
     * @param calls what else happened: calls that waited or took nothing, losses, deaths, changes of the limit
     * @param overlaps where two surely held one slot
     * @param marks the rules that are broken, each with its instant
     * @param leftOut how many holds are not shown, because there are too many
     */
    public record Window(
            String reason,
            boolean broken,
            long from,
            long to,
            List<Hold> holds,
            List<Call> calls,
            List<Overlap> overlaps,
            List<Mark> marks,
            int leftOut) {}

    /**
     * A permit in time.
     *
     * @param process its holder
     * @param slot its slot
     * @param epoch its epoch, or {@link HeldSlot#NO_EPOCH}
     * @param from from when it was surely held
     * @param to up to when it was surely held; before {@code from} if never
     * @param possibleTo up to when nobody knows; {@link Operation#NEVER} if there is no end
     * @param validUntil the end of its validity as the grant said it; {@link Operation#NEVER} without one
     * @param returned whether it ended with a release that was confirmed
     */
    public record Hold(
            String process,
            int slot,
            long epoch,
            long from,
            long to,
            long possibleTo,
            long validUntil,
            boolean returned) {}

    /**
     * Something that took no permit.
     *
     * @param process whose
     * @param what in words
     * @param sign a letter for it; empty for a call that waited and was served
     * @param from its call
     * @param to its return, or {@link Operation#NEVER}
     */
    public record Call(String process, String what, String sign, long from, long to) {}

    /**
     * Two in one slot.
     *
     * @param slot the slot
     * @param first the process that came first
     * @param second the other one
     * @param from from when both held it
     * @param to up to when both held it
     */
    public record Overlap(int slot, String first, String second, long from, long to) {}

    /**
     * A rule that is broken.
     *
     * @param rule its id
     * @param at where this is seen
     */
    public record Mark(String rule, long at) {}

    /**
     * Chooses what to show.
     *
     * @param title what the history is of
     * @param history what happened
     * @param faults which faults struck meanwhile, on the scale of {@link System#nanoTime}
     * @param violations what is wrong with the history
     * @param detectionNanos how long the permit of a dead holder may stay taken
     * @return the choice
     */
    public static HistoryWindows of(
            String title, History history, List<Span> faults, List<Violation> violations, long detectionNanos) {
        return new Choice(history, faults, violations, detectionNanos).windows(title);
    }

    /** Something worth a window. */
    private record Moment(String reason, long from, long to) {}

    /** Everything about a history while its windows are chosen. */
    private static final class Choice {
        private final History history;
        private final List<Violation> violations;
        private final LongUnaryOperator relative;
        private final long length;
        private final List<Span> faults;
        private final List<Interval> intervals;
        private final List<OverlapCheck.Overlap> overlaps;
        private final Set<Long> returned;

        Choice(History history, List<Span> faults, List<Violation> violations, long detectionNanos) {
            this.history = history;
            this.violations = violations;
            this.intervals = Interval.of(history, detectionNanos).stream()
                    .sorted(Comparator.comparingLong(Interval::definiteFrom))
                    .toList();
            this.overlaps = OverlapCheck.overlaps(intervals);
            this.returned = history.operations().stream()
                    .filter(it -> it.kind() == Operation.Kind.RELEASE && it.outcome() == Operation.Outcome.OK)
                    .flatMap(it -> it.slots().stream())
                    .map(HeldSlot::hold)
                    .collect(Collectors.toSet());
            long begin = history.operations().stream()
                    .mapToLong(Operation::invoked)
                    .min()
                    .orElse(0);
            this.relative = instant -> instant == Operation.NEVER ? instant : instant - begin;
            this.faults = faults.stream()
                    .map(fault -> new Span(at(fault.from()), at(fault.to())))
                    .sorted(Comparator.comparingLong(Span::from))
                    .toList();
            this.length = history.operations().stream()
                    .mapToLong(Operation::returned)
                    .filter(instant -> instant != Operation.NEVER)
                    .map(this::at)
                    .max()
                    .orElse(0);
        }

        private long at(long instant) {
            return relative.applyAsLong(instant);
        }

        HistoryWindows windows(String title) {
            List<Window> windows = new ArrayList<>();
            // A few of each kind, since one shows what the next one shows.
            add(windows, violated(), 3);
            add(windows, overlapping(), 2);
            add(windows, lost(), 2);
            add(windows, struck(), 3);
            List<String> words = violations.stream()
                    .limit(MOST_VIOLATIONS)
                    .map(it -> String.format(Locale.ROOT, "at %.1f ms: %s", at(it.at()) / 1e6, it))
                    .map(it -> it.length() > MOST_WORDS ? it.substring(0, MOST_WORDS) + "..." : it)
                    .toList();
            return new HistoryWindows(title, length, held(), limits(), faults, List.copyOf(windows), words);
        }

        private List<Moment> violated() {
            return violations.stream()
                    .map(it -> new Moment("violation of rule " + it.rule(), at(it.at()), at(it.at())))
                    .toList();
        }

        private List<Moment> overlapping() {
            return overlaps.stream()
                    .sorted(Comparator.comparingLong(OverlapCheck.Overlap::length)
                            .reversed())
                    .map(it -> new Moment("two in one slot", at(it.from()), at(it.to())))
                    .toList();
        }

        private List<Moment> lost() {
            return history.operations().stream()
                    .filter(it -> it.kind() == Operation.Kind.LOSS)
                    .map(it -> new Moment("loss that " + it.process() + " noticed", at(it.invoked()), at(it.invoked())))
                    .toList();
        }

        private List<Moment> struck() {
            List<Moment> moments = new ArrayList<>();
            for (int i = 0; i < faults.size(); i++) {
                Span fault = faults.get(i);
                boolean isLong = fault.to() - fault.from() > BEFORE + AFTER;
                String name = "fault " + (i + 1) + " of " + faults.size();
                moments.add(new Moment(
                        (isLong ? "beginning of " : "") + name, fault.from(), isLong ? fault.from() : fault.to()));
                if (isLong) {
                    moments.add(new Moment("end of " + name, fault.to(), fault.to()));
                }
            }
            return moments;
        }

        /** Adds windows for the first moments that no window shows yet. */
        private void add(List<Window> windows, List<Moment> moments, int most) {
            int added = 0;
            for (Moment moment : moments) {
                boolean shown = windows.stream().anyMatch(it -> it.from() <= moment.from() && it.to() >= moment.from());
                if (!shown && added < most) {
                    windows.add(window(moment));
                    added++;
                }
            }
        }

        private Window window(Moment moment) {
            long from = Math.max(0, moment.from() - BEFORE);
            long to = Math.min(length, Math.min(moment.to(), moment.from() + BEFORE + AFTER) + AFTER);
            List<Hold> holds = holds(from, to);
            while (holds.size() > MOST_HOLDS && to - from > NARROWEST) {
                long laterFrom = from + (moment.from() - from) / 4;
                long earlierTo = to - (to - moment.from()) / 4;
                List<Hold> fewer = holds(laterFrom, earlierTo);
                if (fewer.isEmpty()) {
                    break;
                }
                from = laterFrom;
                to = earlierTo;
                holds = fewer;
            }
            Span span = new Span(from, Math.max(to, from + 1));
            List<Mark> marks = violations.stream()
                    .map(it -> new Mark(it.rule(), at(it.at())))
                    .filter(it -> span.meets(it.at(), it.at()))
                    .distinct()
                    .limit(MOST_HOLDS)
                    .toList();
            return new Window(
                    moment.reason(),
                    !marks.isEmpty(),
                    span.from(),
                    span.to(),
                    holds.stream().limit(MOST_HOLDS).toList(),
                    calls(span),
                    overlaps.stream()
                            .map(this::overlap)
                            .filter(it -> span.meets(it.from(), it.to()))
                            .limit(MOST_HOLDS)
                            .toList(),
                    marks,
                    Math.max(0, holds.size() - MOST_HOLDS));
        }

        private Overlap overlap(OverlapCheck.Overlap it) {
            return new Overlap(
                    it.first().held().slot(),
                    it.first().grant().process(),
                    it.second().grant().process(),
                    at(it.from()),
                    at(it.to()));
        }

        /** What is held in a span, with doubt up to where the next one surely holds the slot. */
        private List<Hold> holds(long from, long to) {
            List<Hold> holds = new ArrayList<>();
            Map<Integer, Long> next = new TreeMap<>();
            for (int i = intervals.size() - 1; i >= 0; i--) {
                Interval it = intervals.get(i);
                int slot = it.held().slot();
                long definiteFrom = at(it.definiteFrom());
                long definiteTo = at(it.definiteTo());
                long possibleTo = Math.min(at(it.possibleTo()), next.getOrDefault(slot, Operation.NEVER));
                next.put(slot, definiteFrom);
                if (definiteFrom <= to && Math.max(definiteTo, possibleTo) >= from) {
                    holds.add(
                            0,
                            new Hold(
                                    it.grant().process(),
                                    slot,
                                    it.held().epoch(),
                                    definiteFrom,
                                    definiteTo,
                                    Math.max(possibleTo, definiteTo),
                                    at(it.grant().sureUntil()),
                                    returned.contains(it.held().hold())));
                }
            }
            return holds;
        }

        private List<Call> calls(Span span) {
            long noticeable = (span.to() - span.from()) / 100;
            return history.operations().stream()
                    .map(it -> call(it, noticeable))
                    .filter(it -> !it.what().isEmpty() && span.meets(it.from(), it.to()))
                    .limit(2 * MOST_HOLDS)
                    .toList();
        }

        private Call call(Operation it, long noticeable) {
            boolean waited = it.returned() - it.invoked() > noticeable;
            String what = switch (it.kind()) {
                case LOSS -> "lost " + slots(it);
                case DEATH -> "died";
                case RESIZE -> "set the limit to " + it.count();
                case RELEASE -> it.outcome() == Operation.Outcome.OK ? "" : "release of " + slots(it) + ": " + word(it);
                case ACQUIRE, TRY -> it.isGrant() ? (waited ? "waited" : "") : "acquire: " + word(it);
            };
            String sign = switch (it.kind()) {
                case LOSS -> "L";
                case DEATH -> "D";
                case RESIZE -> Integer.toString(it.count());
                case RELEASE, ACQUIRE, TRY ->
                    switch (it.outcome()) {
                        case OK -> "";
                        case REFUSED, LEFT -> "R";
                        case FAILED -> "F";
                        case UNKNOWN -> "?";
                    };
            };
            return new Call(it.process(), what, sign, at(it.invoked()), at(it.returned()));
        }

        private static String slots(Operation operation) {
            return "slot "
                    + String.join(
                            ", ",
                            operation.slots().stream()
                                    .map(held -> Integer.toString(held.slot()))
                                    .toList());
        }

        private static String word(Operation operation) {
            return switch (operation.outcome()) {
                case OK -> "done";
                case REFUSED -> "refused";
                case FAILED -> "failed";
                case LEFT -> "timed out";
                case UNKNOWN -> "outcome unknown";
            };
        }

        /** The mean number of definite holds in each column. */
        private List<Double> held() {
            double[] sums = new double[COLUMNS];
            double width = Math.max(1, length) / (double) COLUMNS;
            for (Interval it : intervals) {
                double from = at(it.definiteFrom());
                double to = Math.min(at(it.definiteTo()), length);
                for (int i = (int) (from / width); i < COLUMNS && i * width < to; i++) {
                    sums[i] += Math.max(0, Math.min(to, (i + 1) * width) - Math.max(from, i * width)) / width;
                }
            }
            return Arrays.stream(sums).boxed().toList();
        }

        private Map<Long, Integer> limits() {
            Map<Long, Integer> limits = new TreeMap<>();
            limits.put(0L, history.limit());
            history.operations().stream()
                    .filter(it -> it.kind() == Operation.Kind.RESIZE && it.returned() != Operation.NEVER)
                    .filter(it -> it.outcome() == Operation.Outcome.OK)
                    .limit(COLUMNS)
                    .forEach(it -> limits.put(at(it.returned()), it.count()));
            return Collections.unmodifiableMap(limits);
        }
    }
}
