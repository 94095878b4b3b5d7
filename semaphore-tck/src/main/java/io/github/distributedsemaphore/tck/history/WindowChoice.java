package io.github.distributedsemaphore.tck.history;

import io.github.distributedsemaphore.tck.history.HistoryWindows.Call;
import io.github.distributedsemaphore.tck.history.HistoryWindows.Hold;
import io.github.distributedsemaphore.tck.history.HistoryWindows.Mark;
import io.github.distributedsemaphore.tck.history.HistoryWindows.Overlap;
import io.github.distributedsemaphore.tck.history.HistoryWindows.Span;
import io.github.distributedsemaphore.tck.history.HistoryWindows.Window;
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

/** Chooses which windows of a history a page shows. */
final class WindowChoice {
    private static final int MOST_HOLDS = 60;
    private static final int MOST_WORDS = 2_000;
    private static final int MOST_VIOLATIONS = 10;
    private static final long BEFORE = 50_000_000;
    private static final long AFTER = 100_000_000;
    private static final long NARROWEST = 100_000;

    /** Something worth a window. */
    private record Moment(String reason, long from, long to) {}

    private final History history;
    private final List<Violation> violations;
    private final LongUnaryOperator relative;
    private final long length;
    private final List<Span> faults;
    private final List<Interval> intervals;
    private final List<OverlapCheck.Overlap> overlaps;
    private final Set<Long> returned;

    WindowChoice(History history, List<Span> faults, List<Violation> violations, long detectionNanos) {
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
                .sorted(Comparator.comparingLong(OverlapCheck.Overlap::length).reversed())
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
        double[] sums = new double[HistoryWindows.COLUMNS];
        double width = Math.max(1, length) / (double) HistoryWindows.COLUMNS;
        for (Interval it : intervals) {
            double from = at(it.definiteFrom());
            double to = Math.min(at(it.definiteTo()), length);
            for (int i = (int) (from / width); i < HistoryWindows.COLUMNS && i * width < to; i++) {
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
                .limit(HistoryWindows.COLUMNS)
                .forEach(it -> limits.put(at(it.returned()), it.count()));
        return Collections.unmodifiableMap(limits);
    }
}
