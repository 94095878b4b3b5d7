package io.github.distributedsemaphore.tck.report;

import com.google.gson.JsonObject;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.RuleBook;
import java.nio.file.Files;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The part of {@code docs/conformance/README.md} that says what was measured, from the reports of the adapters. */
final class ConformancePage {
    /** Which rules show a capability or a bound. */
    private static final Map<String, String> RULES = Map.ofEntries(
            Map.entry("CROSS_PROCESS", "1.3"),
            Map.entry("CRASH_RELEASE", "2.2, 2.10"),
            Map.entry("LEASE", "1.10, 6.1, 14.1"),
            Map.entry("FENCING", "7.1, 7.3"),
            Map.entry("DURABLE_FENCING", "7.2"),
            Map.entry("DURABLE_STATE", "13.7"),
            Map.entry("LISTING", "9.5"),
            Map.entry("ATOMIC_ADMINISTRATION", "8.9"),
            Map.entry("ARRIVAL_ORDER", "11.4"),
            Map.entry("OPERATION", "3.1, 13.1"),
            Map.entry("RELEASE", "2.3, 4.6"),
            Map.entry("WAKE_UP", "2.1"),
            Map.entry("DETECTION", "2.2"),
            Map.entry("LOSS_NOTICE", "6.4, 6.8"),
            Map.entry("TIMEOUT_SLACK", "3.2"),
            Map.entry("PAUSE_EXPOSURE", "14.1"),
            Map.entry("LINK_EXPOSURE", "1.10, 13.3"),
            Map.entry("CLIENT_CRASH", "2.2"),
            Map.entry("CLIENT_PAUSE", "14.1"),
            Map.entry("LINK_CUT", "1.10, 13.3"),
            Map.entry("BACKEND_RESTART", "13.7"),
            Map.entry("FAIL_OVER", "13.8"),
            Map.entry("STATE_REMOVED", "6.8, 12.6"));

    private final List<Report> reports;
    private final StringBuilder text = new StringBuilder();

    private ConformancePage(List<Report> reports) {
        this.reports = reports;
    }

    /**
     * Writes it.
     *
     * @param reports one of each adapter
     * @param full those of full runs, one of each adapter at most
     */
    static String of(List<Report> reports, List<Report> full) {
        ConformancePage document = new ConformancePage(reports);
        document.addRuns();
        document.addPromises();
        document.addBounds();
        document.addRulesThatDiffer();
        document.text.append(new FullRunsSection(full).text());
        return document.text.toString();
    }

    private void addRuns() {
        heading("The runs", "run", Report::backend);
        row("version", report -> report.run("backendVersion"));
        row("kit, mode, seed", it -> it.text("kit") + ", " + it.run("mode") + ", " + it.run("seed"));
        row("page to look at", ConformancePage::page);
        row("levels of the harness", report -> report.text("level"));
        for (String state : List.of("passed", "aborted", "untested", "failed")) {
            row("rules " + state, report -> Long.toString(report.count(state)));
        }
    }

    /** Reports of runs before there were pages have none. */
    private static String page(Report report) {
        String name = report.backend() + ".html";
        return Files.exists(Report.FOLDER.resolve(name)) ? "[" + name + "](" + name + ")" : "none of this run";
    }

    private void addPromises() {
        heading("What is promised", "promise (rules)", Report::backend);
        for (Capability capability : Capability.values()) {
            row(named(capability), report -> report.has(capability.name()) ? "yes" : "no");
        }
        row(
                "dead holder's slot free (2.2)",
                it -> readable(it.duration("detectionMinNanos").toNanos()) + " to "
                        + readable(it.duration("detectionMaxNanos").toNanos()));
        row("local hand-off at most", it -> readable(it.duration("handOffNanos").toNanos()));
        for (Fault fault : Fault.values()) {
            row(
                    "two holders after " + named(fault),
                    it -> it.exposureNanos(fault.name())
                            .map(nanos -> nanos == 0 ? "never" : readable(nanos))
                            .orElse("cannot happen"));
        }
        row("longest name, bytes", report -> Integer.toString(report.number("maxNameBytes")));
        row("most slots", report -> Integer.toString(report.number("maxPermits")));
    }

    private void addBounds() {
        text.append(
                "\n### Bounds, declared and measured\n\nDeclared; then median, 99th percentile and greatest of what was"
                        + " measured, and how often.\n\n");
        table("bound (rules)", Report::backend);
        for (Bound bound : Bound.values()) {
            row(named(bound), report -> {
                JsonObject found = report.bound(bound.name());
                long count = found.get("count").getAsLong();
                String declared = readable(found.get("declaredNanos").getAsLong());
                return count == 0
                        ? declared + "; not measured"
                        : declared + "; " + nanos(found, "medianNanos") + ", " + nanos(found, "p99Nanos") + ", "
                                + nanos(found, "maxNanos") + " (" + count + ")";
            });
        }
    }

    private void addRulesThatDiffer() {
        heading("Rules that not every backend has shown", "rule", Report::backend);
        for (RuleBook.Entry rule : RuleBook.load().rules().values()) {
            List<String> states = reports.stream()
                    .map(it -> it.rules().get(rule.id()).get("state").getAsString())
                    .toList();
            if (!states.stream().allMatch("passed"::equals)) {
                row(
                        "[" + rule.id() + "](../rules.md) " + rule.text(),
                        report -> state(report.rules().get(rule.id())));
            }
        }
    }

    private static String state(JsonObject rule) {
        String reason = rule.get("reason").getAsString().lines().findFirst().orElse("");
        String state = rule.get("state").getAsString();
        return state.equals("passed") || reason.isEmpty() ? state : state + ": " + cell(reason);
    }

    private void heading(String title, String first, Function<Report, String> columns) {
        text.append("\n### ").append(title).append("\n\n");
        table(first, columns);
    }

    private void table(String first, Function<Report, String> columns) {
        row(first, columns);
        text.append("| ")
                .append(String.join(" | ", Collections.nCopies(reports.size() + 1, "---")))
                .append(" |\n");
    }

    private void row(String first, Function<Report, String> cell) {
        text.append("| ")
                .append(first)
                .append(" | ")
                .append(reports.stream().map(cell).collect(Collectors.joining(" | ")))
                .append(" |\n");
    }

    private static String named(Enum<?> value) {
        String rules = RULES.get(value.name());
        return words(value.name()) + (rules == null ? "" : " (" + rules + ")");
    }

    static String words(String constant) {
        return constant.toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    static String cell(String reason) {
        return reason.replace("|", "\\|");
    }

    static String nanos(JsonObject of, String name) {
        return readable(of.get(name).getAsLong());
    }

    static String readable(long nanos) {
        if (nanos == Long.MAX_VALUE) {
            return "no bound";
        } else if (nanos == 0) {
            return "0";
        }
        double millis = nanos / 1e6;
        return millis >= 1000
                ? String.format(Locale.ROOT, "%.1f s", millis / 1000)
                : String.format(Locale.ROOT, millis >= 10 ? "%.0f ms" : "%.2f ms", millis);
    }
}
