package io.github.distributedsemaphore.tck.report;

import static io.github.distributedsemaphore.tck.report.Markup.escape;
import static io.github.distributedsemaphore.tck.report.Markup.fill;
import static io.github.distributedsemaphore.tck.report.Markup.readable;

import io.github.distributedsemaphore.tck.history.HistoryWindows;
import io.github.distributedsemaphore.tck.report.Conformance.State;
import io.github.distributedsemaphore.tck.report.Conformance.Verdict;
import io.github.distributedsemaphore.tck.rulebook.RuleBook;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A {@link Conformance} as one page that needs nothing else: no script, no other file. The same report gives the same bytes, at
 * most {@value #MOST_BYTES} of them: windows that no longer fit are left out, and the page says how many.
 */
final class ConformanceHtml {
    static final int MOST_BYTES = 2_000_000;
    private static final int MOST_REASON = 2_000;
    private static final double LEFT = 150;
    private static final double RIGHT = 660;
    private static final double SHORTEST_LOG = 3; // 1 us, in powers of ten of nanoseconds

    private final Conformance report;
    private final StringBuilder page = new StringBuilder();

    private ConformanceHtml(Conformance report) {
        this.report = report;
    }

    static String of(Conformance report) {
        return new ConformanceHtml(report).html();
    }

    private String html() {
        page.append("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
                .append("<meta name=\"viewport\" content=\"width=device-width\">")
                .append(fill(
                        "<title>Conformance: %s</title>\n<style>",
                        report.guarantees().backend()))
                .append(STYLE)
                .append("</style></head><body>\n")
                .append(HistoryPicture.patterns());
        addVerdict();
        addBounds();
        addRules();
        String end = "</body></html>\n";
        String after = histories(MOST_BYTES - bytes(page) - bytes(rest()) - bytes(end) - 500);
        return page.append(after).append(rest()).append(end).toString();
    }

    private static int bytes(CharSequence text) {
        return text.toString().getBytes(StandardCharsets.UTF_8).length;
    }

    private int count(State state) {
        return report.counts().getOrDefault(state, 0);
    }

    private void addVerdict() {
        boolean broken = count(State.FAILED) > 0;
        boolean partial = count(State.NOT_RUN) > 0;
        String verdict = broken
                ? "✗ " + count(State.FAILED) + (count(State.FAILED) == 1 ? " rule is" : " rules are") + " broken: "
                        + ids(State.FAILED)
                : partial
                        ? "○ No rule was found broken, but " + count(State.NOT_RUN) + " were not run"
                        : "✓ Every rule that was tested is kept";
        page.append(fill("<h1>%s <small>%s</small></h1>\n", report.guarantees().backend(), report.title()))
                .append(fill(
                        "<p class=\"verdict %s\">%s</p>\n<p class=\"tiles\">",
                        broken ? "bad" : partial ? "part" : "good", verdict));
        for (State state : State.values()) {
            page.append(fill(
                    "<span class=\"tile %s\">%s %d %s</span> ",
                    style(state), glyph(state), count(state), state.word()));
        }
        Map<String, String> facts = new LinkedHashMap<>(report.run());
        facts.put("kit", report.kit());
        facts.put("harness levels", report.level());
        page.append("</p>\n<p>")
                .append(facts.entrySet().stream()
                        .map(fact -> fill("%s <b>%s</b>", fact.getKey(), fact.getValue()))
                        .collect(Collectors.joining(" · ")))
                .append("</p>\n");
    }

    private String ids(State state) {
        return report.rules().stream()
                .filter(it -> it.state() == state)
                .map(it -> it.rule().id())
                .collect(Collectors.joining(", "));
    }

    private static String glyph(State state) {
        return switch (state) {
            case PASSED -> "✓";
            case FAILED -> "✗";
            case ABORTED -> "◐";
            case UNTESTED -> "?";
            case NOT_RUN -> "○";
        };
    }

    private static String style(State state) {
        return state.name().toLowerCase(Locale.ROOT);
    }

    private void addBounds() {
        page.append(
                "<h2 id=\"bounds\">Bounds, declared and measured</h2>\n<p>The bar ends at the greatest value. M is the median,"
                        + " 99 the 99th percentile, and the thick line is what the backend declares. The axis is logarithmic.</p>\n");
        long most = report.bounds().stream()
                .flatMap(it -> java.util.stream.Stream.of(it.declared(), it.max()))
                .filter(it -> it != Long.MAX_VALUE)
                .max(Comparator.naturalOrder())
                .orElse(0L);
        double decades = Math.max(1, Math.ceil(Math.log10((double) Math.max(10, most)) - SHORTEST_LOG));
        double height = 20 + 34 * report.bounds().size();
        page.append(fill("<svg viewBox=\"0 0 1004 %.0f\" role=\"img\" aria-label=\"bounds\">", height + 20));
        for (int i = 0; i <= decades; i++) {
            double x = LEFT + (RIGHT - LEFT) * i / decades;
            page.append(fill(
                    "<path class=\"lane\" d=\"M%.1f 8V%.1f\"/><text class=\"small mid\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                    x, height, x, height + 14, readable((long) Math.pow(10, SHORTEST_LOG + i))));
        }
        for (int i = 0; i < report.bounds().size(); i++) {
            addBound(report.bounds().get(i), 12 + 34.0 * i, decades);
        }
        page.append("</svg>\n");
    }

    private void addBound(BoundReport bound, double y, double decades) {
        String name = bound.bound().name().toLowerCase(Locale.ROOT).replace('_', ' ');
        boolean exceeded = bound.remark().equals("exceeded");
        page.append(fill("<text x=\"2\" y=\"%.1f\">%s</text>", y + 17, name));
        if (bound.count() == 0) {
            page.append(fill(
                    "<rect class=\"maybe\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"18\"/>",
                    LEFT, y + 4, RIGHT - LEFT));
        } else {
            page.append(fill(
                            "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"18\"/>",
                            exceeded ? "overlap" : "bar", LEFT, y + 4, Math.max(2, x(bound.max(), decades) - LEFT)))
                    .append(tick(bound.median(), "M", y, decades))
                    .append(tick(
                            bound.p99(),
                            x(bound.p99(), decades) - x(bound.median(), decades) < 14 ? "" : "99",
                            y,
                            decades));
        }
        if (bound.declared() != Long.MAX_VALUE) {
            page.append(fill("<path class=\"declared\" d=\"M%.1f %.1fv24\"/>", x(bound.declared(), decades), y + 1));
        }
        String measured = bound.count() == 0
                ? "NOT MEASURED"
                : fill("max %s, median %s, %d times", readable(bound.max()), readable(bound.median()), bound.count());
        page.append(fill(
                "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">declared %s%s</text><text class=\"small\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                exceeded ? "red" : "",
                RIGHT + 14,
                y + 11,
                readable(bound.declared()),
                exceeded ? ": EXCEEDED" : "",
                RIGHT + 14,
                y + 25,
                measured));
    }

    private static String tick(long nanos, String label, double y, double decades) {
        return fill(
                "<path class=\"tick\" d=\"M%.1f %.1fv18\"/><text class=\"small\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                x(nanos, decades), y + 4, x(nanos, decades) + 2, y + 17, label);
    }

    private static double x(long nanos, double decades) {
        double power = Math.max(0, Math.log10((double) Math.max(1, nanos)) - SHORTEST_LOG);
        return LEFT + (RIGHT - LEFT) * Math.min(1, power / decades);
    }

    private void addRules() {
        page.append("<h2 id=\"rules\">Rules</h2>\n<p class=\"grid\">");
        report.rules()
                .forEach(it -> page.append(fill(
                        "<a class=\"cell %s\" href=\"#r%s\" title=\"%s %s\">%s<br>%s</a> ",
                        style(it.state()),
                        it.rule().id(),
                        it.rule().id(),
                        it.state().word(),
                        glyph(it.state()),
                        it.rule().id())));
        page.append("</p>\n");
        Map<String, List<Verdict>> sections = report.rules().stream()
                .collect(Collectors.groupingBy(it -> it.rule().section(), LinkedHashMap::new, Collectors.toList()));
        sections.forEach((section, verdicts) -> {
            String number = verdicts.get(0).rule().id().replaceFirst("\\..*", "");
            page.append(fill("<h3>%s. %s</h3>\n<table>\n", number, section));
            verdicts.forEach(this::addRule);
            page.append("</table>\n");
        });
    }

    private void addRule(Verdict verdict) {
        RuleBook.Entry rule = verdict.rule();
        State state = verdict.state();
        page.append(fill(
                "<tr id=\"r%s\" class=\"%s\"><td><span class=\"tile %s\">%s %s</span></td><td>%s</td><td>%s",
                rule.id(), style(state), style(state), glyph(state), state.word(), rule.id(), rule.text()));
        if (state == State.FAILED) {
            page.append(fill("<pre>%s</pre>", shortened(verdict.reason()))).append(hint(rule));
        } else if (!verdict.reason().isEmpty()) {
            page.append(fill("<br><b>%s</b>", shortened(verdict.reason())));
        }
        page.append("</td></tr>\n");
    }

    private static String shortened(String reason) {
        return reason.length() > MOST_REASON ? reason.substring(0, MOST_REASON) + "..." : reason;
    }

    private String hint(RuleBook.Entry rule) {
        String chance = rule.kind() == RuleBook.Kind.STOCHASTIC
                ? " It depends on chance: one repetition that passes shows nothing."
                : "";
        String needs = rule.needs().isEmpty()
                ? ""
                : " It is about what is declared as " + String.join(", ", rule.needs()) + ".";
        return fill(
                "<p class=\"hint\">Hint: repeat the run with <code>tck.seed=%s</code>.%s%s A recorded history of the failure is below, if there is one.</p>",
                String.valueOf(report.run().get("seed")), chance, needs);
    }

    /** A window on its way to the page. */
    private record Piece(int history, int window, int number, boolean broken, String svg) {}

    private String histories(int room) {
        List<HistoryWindows> histories = report.windows();
        if (histories.isEmpty()) {
            return "<h2 id=\"histories\">Histories under faults</h2>\n<p>None was recorded in this run.</p>\n";
        }
        List<Piece> pieces = new ArrayList<>();
        for (int i = 0; i < histories.size(); i++) {
            for (int j = 0; j < histories.get(i).windows().size(); j++) {
                int number = pieces.size() + 1;
                HistoryWindows.Window window = histories.get(i).windows().get(j);
                boolean broken =
                        window.broken() || !histories.get(i).violations().isEmpty();
                pieces.add(new Piece(i, j, number, broken, HistoryPicture.window(histories.get(i), window, number)));
            }
        }
        List<Piece> chosen = fitting(
                pieces,
                room
                        - histories.stream()
                                .mapToInt(it -> bytes(head(it, Map.of()))
                                        + 300 * it.windows().size())
                                .sum());
        StringBuilder text = new StringBuilder("<h2 id=\"histories\">Histories under faults</h2>\n"
                + "<p>Time runs from left to right. The strip shows the mean number of slots that were surely held, the dashed line the"
                + " limit; a triangle leads to a window.</p>\n" + HistoryPicture.legend());
        if (chosen.size() < pieces.size()) {
            text.append(fill(
                    "<p><b>%d windows are left out, because the page would be too large.</b></p>\n",
                    pieces.size() - chosen.size()));
        }
        for (int i = 0; i < histories.size(); i++) {
            int current = i;
            Map<Integer, Integer> links = new TreeMap<>();
            List<Piece> shown =
                    chosen.stream().filter(it -> it.history() == current).toList();
            shown.forEach(it -> links.put(it.window(), it.number()));
            text.append(head(histories.get(i), links));
            shown.forEach(it -> text.append(it.svg()));
        }
        return text.toString();
    }

    /** The first windows of all histories come before the second ones, and what is broken before all. */
    private static List<Piece> fitting(List<Piece> pieces, int room) {
        List<Piece> chosen = new ArrayList<>();
        int left = room;
        List<Piece> byWeight = pieces.stream()
                .sorted(Comparator.comparing((Piece it) -> !it.broken())
                        .thenComparingInt(Piece::window)
                        .thenComparingInt(Piece::history))
                .toList();
        for (Piece piece : byWeight) {
            int size = bytes(piece.svg());
            if (size <= left) {
                left -= size;
                chosen.add(piece);
            }
        }
        chosen.sort(Comparator.comparingInt(Piece::history).thenComparingInt(Piece::window));
        return chosen;
    }

    private String head(HistoryWindows history, Map<Integer, Integer> links) {
        StringBuilder text = new StringBuilder(fill("<h3>%s</h3>\n", history.title()));
        report.histories().stream()
                .filter(it -> it.shape().equals(history.title()))
                .forEach(it -> text.append(fill("<p>%s</p>\n", it.line())));
        if (!history.violations().isEmpty()) {
            text.append("<ul class=\"bad\">");
            history.violations().forEach(it -> text.append(fill("<li>✗ %s</li>\n", it)));
            text.append("</ul>\n");
        }
        return text.append(HistoryPicture.strip(history, links)).toString();
    }

    private String rest() {
        StringBuilder text = new StringBuilder("<h2 id=\"states\">States that the run reached</h2>\n<p>");
        text.append(report.states().stream()
                .map(it -> fill(
                        "<span class=\"tile %s\">%s %s: %d</span>",
                        it.isMissing() ? "failed" : it.reached() > 0 ? "passed" : "not_run",
                        it.isMissing() ? "✗ never reached," : it.reached() > 0 ? "✓" : "○",
                        it.state().name().toLowerCase(Locale.ROOT).replace('_', ' '),
                        it.reached()))
                .collect(Collectors.joining(" ")));
        text.append("</p>\n<h2 id=\"declared\">Declared</h2>\n<p>Capabilities: ")
                .append(escape(report.guarantees().capabilities().stream()
                        .sorted()
                        .map(Enum::name)
                        .collect(Collectors.joining(", "))))
                .append("</p>\n");
        list(text, "Notes", report.guarantees().notes());
        list(
                text,
                "Admitted and not shown",
                report.unproven().entrySet().stream()
                        .map(it -> it.getKey() + ": " + it.getValue())
                        .toList());
        list(text, "Methods of the port that no test called", report.untouched());
        return text.toString();
    }

    private static void list(StringBuilder text, String title, Iterable<String> items) {
        if (items.iterator().hasNext()) {
            text.append(fill("<h3>%s</h3>\n<ul>", title));
            items.forEach(it -> text.append(fill("<li>%s</li>", it)));
            text.append("</ul>\n");
        }
    }

    private static final String STYLE = """
            body{font:15px/1.45 system-ui,sans-serif;max-width:1080px;margin:24px auto;padding:0 16px;color:#1b1b1b;background:#fff}
            h1 small{font-weight:400;color:#555}h2{margin-top:36px;border-bottom:2px solid #ddd}
            svg{width:100%;height:auto;font:12px system-ui,sans-serif;display:block;margin:4px 0 12px}svg[aria-hidden]{position:absolute}
            .legend svg{display:inline;width:30px;height:16px;margin:0;vertical-align:-3px}.legend{font-size:13px;background:#f6f6f6;padding:8px 12px}
            .verdict{font-size:22px;font-weight:700;padding:12px 16px;border:3px solid;border-radius:6px}
            .good{color:#00513c;background:#e6f5ef}.part{color:#6b4400;background:#fff4dc}.bad{color:#a00000;background:#fff0f0}
            .tile{display:inline-block;font-weight:700;font-size:13px;padding:1px 8px;border:2px solid;border-radius:4px;white-space:nowrap;margin:1px 0}
            .tile.passed,.cell.passed{color:#00513c;background:#e6f5ef}.tile.failed,.cell.failed{color:#fff;background:#b00000;border-color:#b00000}
            .tile.aborted,.cell.aborted,.tile.untested,.cell.untested{color:#fff;background:#8a4b00;border-color:#8a4b00}
            .tile.not_run,.cell.not_run{color:#333;background:repeating-linear-gradient(45deg,#fff 0 5px,#ddd 5px 8px)}
            .grid{line-height:1.1}.cell{display:inline-block;width:42px;text-align:center;font-size:12px;padding:3px 0;margin:1px 0;border:1px solid #666;border-radius:4px;text-decoration:none}
            table{border-collapse:collapse;width:100%}td{vertical-align:top;padding:5px 8px;border-top:1px solid #ddd}td:first-child{width:118px}td:nth-child(2){width:36px;font-weight:700}
            tr.failed td{background:#fff0f0}tr.aborted td,tr.untested td,tr.not_run td{background:#fff8ea}
            pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#fff;border-left:4px solid #b00000;padding:6px 10px;margin:6px 0}.hint{margin:4px 0}
            figure{margin:10px 0 22px;padding:8px 10px 0;border:1px solid #ccc}figure.broken{border:4px solid #d00000}figcaption{font-weight:700}figure.broken figcaption{color:#a00000}
            .held{stroke:#333;stroke-width:.8}.maybe{fill:url(#maybe);stroke:#666;stroke-width:.6}.strike{fill:url(#strike)}.overlap{fill:url(#overlap);fill-opacity:.8;stroke:#d00000;stroke-width:3}
            .violation path{stroke:#d00000;stroke-width:2;stroke-dasharray:6 3;fill:none}.violation text,.red{fill:#b00000;font-weight:700}
            .violation text,.held+text,g>text{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}
            .valid{stroke:#111;stroke-width:1.6;fill:none}.call{stroke:#444;stroke-width:1.4}.sign{font-weight:700;font-size:11px}.lane,.axis{stroke:#bbb;fill:none}
            .limit{stroke:#111;stroke-dasharray:7 4;fill:none;stroke-width:1.4}.area{fill:#5b9bd5;fill-opacity:.75}.area~.strike{fill-opacity:.6}.bar{fill:#8fcdf0;stroke:#33617c}.declared{stroke:#111;stroke-width:4}.tick{stroke:#111}
            .small{font-size:11px}.mid{text-anchor:middle}.end{text-anchor:end}.alarm{fill:#d00000}.link{fill:#333}
            """;
}
