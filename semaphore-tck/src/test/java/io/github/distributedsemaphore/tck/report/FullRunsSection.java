package io.github.distributedsemaphore.tck.report;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** What {@code docs/conformance/README.md} says of full runs: how large they were, and each history under faults. */
final class FullRunsSection {
    private static final List<String> COUNTS =
            List.of("operations", "grants", "refusals", "failures", "unknowns", "losses");

    private static final int LONGEST_REASON = 200;

    private final List<Report> reports;
    private final StringBuilder text = new StringBuilder();

    FullRunsSection(List<Report> reports) {
        this.reports = reports;
    }

    String text() {
        text.append("\n### Full runs\n\n"
                + "Six threads on two clients at three slots, and one kind of fault again and again, for three minutes each. An"
                + " overlap is of two holders of one slot who were both entitled to it; one that a backend declares for that"
                + " fault is no violation.\n\n");
        line(
                "backend",
                "seed",
                "rules passed, aborted, untested, failed",
                "kinds of faults",
                "faults that struck",
                "operations",
                "grants",
                "unknown",
                "longest overlap",
                "violations");
        rule(10);
        reports.forEach(this::addSum);
        reports.forEach(this::addFailures);
        reports.forEach(this::addHistories);
        return text.toString();
    }

    private void addSum(Report report) {
        String rules = List.of("passed", "aborted", "untested", "failed").stream()
                .map(state -> Long.toString(report.count(state)))
                .collect(Collectors.joining(", "));
        long longest = report.histories().stream()
                .mapToLong(history -> history.get("longestOverlapNanos").getAsLong())
                .max()
                .orElse(0);
        line(
                report.backend(),
                report.run("seed"),
                rules,
                Integer.toString(report.histories().size()),
                sum(report, "strikes"),
                sum(report, "operations"),
                sum(report, "grants"),
                sum(report, "unknowns"),
                ConformancePage.readable(longest),
                sum(report, "violations"));
    }

    private static String sum(Report report, String what) {
        return Long.toString(report.histories().stream()
                .mapToLong(history -> history.get(what).getAsLong())
                .sum());
    }

    private void addFailures(Report report) {
        List<Map.Entry<String, JsonObject>> failed = report.rules().entrySet().stream()
                .filter(rule -> rule.getValue().get("state").getAsString().equals("failed"))
                .sorted(Map.Entry.comparingByKey())
                .toList();
        if (!failed.isEmpty()) {
            text.append("\nIn the full run of ").append(report.backend()).append(" failed:\n\n");
        }
        for (Map.Entry<String, JsonObject> rule : failed) {
            text.append("- ")
                    .append(rule.getKey())
                    .append(": ")
                    .append(line(rule.getValue().get("reason").getAsString()))
                    .append('\n');
        }
    }

    /** A reason in one line, without the class of the exception. */
    private static String line(String reason) {
        String words =
                reason.replaceFirst("^[\\w.]+: ", "").replaceAll("\\s+", " ").strip();
        return words.length() > LONGEST_REASON ? words.substring(0, LONGEST_REASON) + "..." : words;
    }

    private void addHistories(Report report) {
        text.append("\n### Histories under faults: ").append(report.backend()).append("\n\n");
        line(
                "fault",
                "struck",
                "seconds",
                "operations",
                "grants",
                "refused",
                "failed",
                "unknown",
                "lost",
                "longest overlap",
                "violations");
        rule(11);
        for (JsonObject history : report.histories()) {
            List<String> cells = new ArrayList<>(List.of(
                    ConformancePage.words(history.get("shape").getAsString()),
                    history.get("strikes").getAsString(),
                    Long.toString(Math.round(history.get("millis").getAsLong() / 1000.0))));
            COUNTS.forEach(count -> cells.add(history.get(count).getAsString()));
            cells.add(ConformancePage.nanos(history, "longestOverlapNanos"));
            cells.add(history.get("violations").getAsString());
            line(cells.toArray(String[]::new));
        }
    }

    private void line(String... cells) {
        text.append("| ").append(String.join(" | ", cells)).append(" |\n");
    }

    private void rule(int columns) {
        text.append("| --- ".repeat(columns)).append("|\n");
    }
}
