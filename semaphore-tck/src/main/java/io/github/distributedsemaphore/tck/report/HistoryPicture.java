package io.github.distributedsemaphore.tck.report;

import static io.github.distributedsemaphore.tck.report.Markup.fill;
import static io.github.distributedsemaphore.tck.report.Markup.readable;

import io.github.distributedsemaphore.tck.history.HeldSlot;
import io.github.distributedsemaphore.tck.history.HistoryWindows;
import io.github.distributedsemaphore.tck.history.HistoryWindows.Call;
import io.github.distributedsemaphore.tck.history.HistoryWindows.Hold;
import io.github.distributedsemaphore.tck.history.HistoryWindows.Mark;
import io.github.distributedsemaphore.tck.history.HistoryWindows.Overlap;
import io.github.distributedsemaphore.tck.history.HistoryWindows.Span;
import io.github.distributedsemaphore.tck.history.HistoryWindows.Window;
import io.github.distributedsemaphore.tck.history.Operation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/** A recorded history in SVG: held slots over its whole time, and windows whose lanes are slots. */
final class HistoryPicture {
    /** Apart for most colour-blind people too (Okabe and Ito, lightened); red is for what is broken. */
    private static final List<String> COLOURS =
            List.of("#f4c05f", "#8fcdf0", "#66c8a8", "#f0e442", "#8db4e2", "#dfa6c6", "#c4c4c4", "#d2b48c");

    private static final List<String> OVERLAYS = List.of("", "M0 4H8", "M4 0V8", "M3 4h2");
    private static final double LEFT = 92;
    private static final double WIDTH = 1000;
    private static final double LANE = 32;
    private static final double ROW = 15;
    private static final double TOP = 22;
    private static final double STRIP = 64;
    private static final double LABEL = 94;
    private static final int LEGIBLE = 7;

    private HistoryPicture() {}

    /** The patterns that all pictures of a page share. */
    static String patterns() {
        StringBuilder svg = new StringBuilder("<svg width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>");
        for (int i = 0; i < COLOURS.size(); i++) {
            svg.append(fill(
                    "<pattern id=\"p%d\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 0H8V8H0z\""
                            + " fill=\"%s\"/><path d=\"%s\" stroke=\"#555\" stroke-width=\".8\"/></pattern>",
                    i, COLOURS.get(i), OVERLAYS.get(i % OVERLAYS.size())));
        }
        return svg + diagonal("maybe", "M0 8L8 0", "#fff", "#666", 1)
                + diagonal("strike", "M0 0L8 8", "#f6f2fa", "#d2c4e4", 2)
                + diagonal("overlap", "M0 0L8 8M0 8L8 0", "#ffd9d9", "#d00000", 2) + "</defs></svg>\n";
    }

    private static String diagonal(String id, String path, String ground, String line, int width) {
        return fill(
                "<pattern id=\"%s\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 0H8V8H0z\" fill=\"%s\"/>"
                        + "<path d=\"%s\" stroke=\"%s\" stroke-width=\"%d\"/></pattern>",
                id, ground, path, line, width);
    }

    /** What the marks of {@link #window} mean. */
    static String legend() {
        return """
                <p class="legend">
                <svg viewBox="0 0 30 16" width="30" height="16"><rect class="held" x="1" y="1" width="28" height="14" fill="url(#p1)"/></svg> held by the named process ·
                <svg viewBox="0 0 30 16" width="30" height="16"><rect class="maybe" x="1" y="1" width="28" height="14"/></svg> unknown: perhaps still held ·
                <svg viewBox="0 0 30 16" width="30" height="16"><path class="valid" d="M1 8H28M28 2V14"/></svg> up to the end of the validity that the grant gave ·
                <svg viewBox="0 0 30 16" width="30" height="16"><rect class="strike" x="1" y="1" width="28" height="14"/></svg> a fault strikes ·
                <svg viewBox="0 0 30 16" width="30" height="16"><rect class="overlap" x="2" y="2" width="26" height="12"/></svg> <b>two surely hold one slot</b> ·
                below the slots a line a process: a thin line waits, R refused or timed out, F failed, ? outcome unknown, L loss noticed, D died, a number sets the limit
                </p>
                """;
    }

    /** Held slots over the whole time, with faults behind and links to the windows that are shown. */
    static String strip(HistoryWindows history, Map<Integer, Integer> links) {
        Scale scale = new Scale(0, Math.max(1, history.length()));
        int top = history.limits().values().stream()
                .max(Comparator.naturalOrder())
                .orElse(1);
        double most = Math.max(
                Math.max(1, top),
                history.held().stream().max(Comparator.naturalOrder()).orElse(0.0));
        StringBuilder svg = open(TOP + STRIP + 18, "held slots over time: " + history.title());
        svg.append(heldArea(history, scale, most));
        history.faults().forEach(it -> svg.append(strike(scale, it, TOP, STRIP)));
        svg.append(limitLine(history, scale, most));
        for (int slots = 0; slots <= top; slots += Math.max(1, top / 3)) {
            svg.append(fill(
                    "<text class=\"end\" x=\"%.1f\" y=\"%.1f\">%d</text>", LEFT - 6, height(slots, most) + 4, slots));
        }
        svg.append(
                fill("<text x=\"2\" y=\"%.1f\">slots</text><text x=\"2\" y=\"%.1f\">held</text>", TOP + 24, TOP + 38));
        links.forEach((index, number) -> {
            Window window = history.windows().get(index);
            double x = scale.x((window.from() + window.to()) / 2);
            svg.append(fill(
                    "<a href=\"#window-%d\"><path class=\"%s\" d=\"M%.1f %.1fh8l-4 7z\"/><text class=\"mid\" x=\"%.1f\" y=\"%.1f\">%d</text></a>",
                    number, window.broken() ? "alarm" : "link", x - 4, TOP - 8, x, TOP - 10, number));
        });
        return svg.append(axis(scale, TOP + STRIP)).append("</svg>\n").toString();
    }

    private static double height(double slots, double most) {
        return TOP + STRIP - slots / most * (STRIP - 6);
    }

    private static String heldArea(HistoryWindows history, Scale scale, double most) {
        StringBuilder path = new StringBuilder(fill("M%.1f %.1f", LEFT, TOP + STRIP));
        int columns = history.held().size();
        for (int i = 0; i < columns; i++) {
            path.append(
                    fill("V%.1fH%.1f", height(history.held().get(i), most), LEFT + (i + 1) * scale.width() / columns));
        }
        return "<path class=\"area\" d=\"" + path + fill("V%.1fz", TOP + STRIP) + "\"/>";
    }

    private static String limitLine(HistoryWindows history, Scale scale, double most) {
        StringBuilder path = new StringBuilder();
        history.limits().forEach((at, limit) -> {
            String step = fill("%.1f %.1f", scale.x(at), height(limit, most));
            path.append(path.isEmpty() ? "M" + step : fill("H%.1fV%.1f", scale.x(at), height(limit, most)));
        });
        return "<path class=\"limit\" d=\"" + path + fill("H%.1f", WIDTH) + "\"/>";
    }

    private static String strike(Scale scale, Span fault, double y, double height) {
        double x = scale.x(fault.from());
        return fill(
                "<rect class=\"strike\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>a fault strikes from %s to %s</title></rect>",
                x, y, Math.max(1.5, scale.x(fault.to()) - x), height, readable(fault.from()), readable(fault.to()));
    }

    /** One window: lanes are slots, and below them a line a process. */
    static String window(HistoryWindows history, Window window, int number) {
        List<Integer> slots = slots(history, window);
        List<String> lines = processes(window.calls().stream().map(Call::process));
        double lanes = TOP + slots.size() * LANE + 4;
        double bottom = lanes + lines.size() * ROW;
        Scale scale = new Scale(window.from(), window.to());
        StringBuilder svg = open(bottom + 18, window.reason());
        history.faults().stream()
                .filter(it -> it.from() <= window.to() && it.to() >= window.from())
                .forEach(it -> svg.append(strike(scale, it, TOP - 4, bottom - TOP + 4)));
        svg.append(lanes(scale, window, slots));
        for (Call call : window.calls()) {
            svg.append(call(scale, call, lanes + lines.indexOf(call.process()) * ROW));
        }
        for (int i = 0; i < lines.size(); i++) {
            svg.append(fill("<text class=\"small\" x=\"2\" y=\"%.1f\">%s</text>", lanes + 11 + i * ROW, lines.get(i)));
        }
        svg.append(overlaps(scale, window, slots));
        svg.append(marks(scale, window, bottom)).append(axis(scale, bottom)).append("</svg>\n");
        String style = window.broken() ? "broken" : "window";
        return fill("<figure id=\"window-%d\" class=\"%s\"><figcaption>", number, style)
                + fill("<a href=\"#window-%d\">Window %d</a>: %s", number, number, window.reason())
                + (window.leftOut() > 0 ? fill(" (%d more holds are too narrow to be drawn)", window.leftOut()) : "")
                + "</figcaption>\n" + svg + "</figure>\n";
    }

    private static String lanes(Scale scale, Window window, List<Integer> slots) {
        StringBuilder svg = new StringBuilder();
        for (int i = 0; i < slots.size(); i++) {
            svg.append(fill(
                    "<text x=\"2\" y=\"%.1f\">slot %d</text><path class=\"lane\" d=\"M%.1f %.1fH%.1f\"/>",
                    TOP + i * LANE + 21, slots.get(i), LEFT, TOP + (i + 1) * LANE, WIDTH));
        }
        List<String> holders = processes(window.holds().stream().map(Hold::process));
        window.holds().forEach(it -> svg.append(tail(scale, it, y(slots, it.slot()))));
        window.holds()
                .forEach(it -> svg.append(
                        hold(scale, it, y(slots, it.slot()), holders.indexOf(it.process()) % COLOURS.size())));
        return svg.toString();
    }

    private static List<String> processes(Stream<String> names) {
        return names.distinct()
                .sorted(Comparator.comparingInt(String::length).thenComparing(Comparator.naturalOrder()))
                .toList();
    }

    /** A line each; what would be written over another one is left unwritten. */
    private static String marks(Scale scale, Window window, double bottom) {
        StringBuilder svg = new StringBuilder();
        double written = 0;
        for (Mark mark : window.marks().stream()
                .sorted(Comparator.comparingLong(Mark::at))
                .toList()) {
            double x = scale.x(mark.at());
            double middle = Math.min(WIDTH - LABEL / 2, Math.max(LEFT + LABEL / 2, x));
            svg.append(fill("<g class=\"violation\"><path d=\"M%.1f 14V%.1f\"/>", x, bottom));
            if (written == 0 || middle - LABEL >= written) {
                svg.append(fill("<text class=\"mid\" x=\"%.1f\" y=\"11\">rule %s broken</text>", middle, mark.rule()));
                written = middle;
            }
            svg.append("</g>");
        }
        return svg.toString();
    }

    private static double y(List<Integer> slots, int slot) {
        return TOP + slots.indexOf(slot) * LANE;
    }

    /** All slots where they are few; else those that somebody held. */
    private static List<Integer> slots(HistoryWindows history, Window window) {
        TreeSet<Integer> slots = new TreeSet<>();
        window.holds().forEach(it -> slots.add(it.slot()));
        window.overlaps().forEach(it -> slots.add(it.slot()));
        int limit = history.limits().values().stream()
                .max(Comparator.naturalOrder())
                .orElse(0);
        for (int slot = 1; slot <= Math.min(limit, LEGIBLE); slot++) {
            slots.add(slot);
        }
        return new ArrayList<>(slots);
    }

    private static String hold(Scale scale, Hold it, double y, int pattern) {
        StringBuilder svg = new StringBuilder("<g>");
        double from = scale.x(it.from());
        double to = Math.max(from, scale.x(it.to()));
        svg.append(fill(
                "<title>%s held slot %d%s from %s to %s%s</title>",
                it.process(),
                it.slot(),
                it.epoch() == HeldSlot.NO_EPOCH ? "" : ", epoch " + it.epoch(),
                readable(it.from()),
                it.to() == Operation.NEVER ? "the end" : readable(it.to()),
                it.possibleTo() == it.to()
                        ? ""
                        : ", perhaps to "
                                + (it.possibleTo() == Operation.NEVER ? "the end" : readable(it.possibleTo()))));
        if (it.to() >= it.from()) {
            svg.append(fill(
                    "<rect class=\"held\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"18\" fill=\"url(#p%d)\"/>",
                    from, y + 11, Math.max(1, to - from), pattern));
        }
        if (to - from > LEGIBLE * it.process().length() + 4) {
            svg.append(fill("<text x=\"%.1f\" y=\"%.1f\">%s</text>", from + 4, y + 24, it.process()));
        }
        return svg.append("</g>").toString();
    }

    /** What comes after a hold: the doubt, and the rest of its validity. */
    private static String tail(Scale scale, Hold it, double y) {
        StringBuilder svg = new StringBuilder();
        double from = Math.max(scale.x(it.from()), scale.x(it.to()));
        if (scale.x(it.possibleTo()) > from) {
            svg.append(fill(
                    "<rect class=\"maybe\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\"/>",
                    from, y + 14, Math.max(1, scale.x(it.possibleTo()) - from)));
        }
        // A renewed validity is not in the history, so only what ended before its grant's validity has such a tail.
        if (!it.returned() && it.validUntil() != Operation.NEVER && it.validUntil() > it.to()) {
            svg.append(valid(scale, it, y, from));
        }
        return svg.toString();
    }

    private static String valid(Scale scale, Hold it, double y, double from) {
        double to = scale.x(it.validUntil());
        String cap = scale.shows(it.validUntil()) ? fill("M%.1f %.1fV%.1f", to, y + 14, y + 26) : "";
        return to - from < 1 ? "" : fill("<path class=\"valid\" d=\"M%.1f %.1fH%.1f", from, y + 20, to) + cap + "\"/>";
    }

    /** In red. What would be written over another one is left to the tool tip. */
    private static String overlaps(Scale scale, Window window, List<Integer> slots) {
        StringBuilder svg = new StringBuilder();
        Map<Integer, Double> written = new TreeMap<>();
        for (Overlap it : window.overlaps()) {
            double from = scale.x(it.from());
            double width = Math.max(4, scale.x(it.to()) - from);
            String text = words(it, window);
            double length = 6.4 * text.length();
            double x = Math.max(LEFT, Math.min(from, WIDTH - length));
            svg.append(fill(
                    "<g class=\"violation\"><rect class=\"overlap\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"22\"/><title>%s</title>",
                    from, y(slots, it.slot()) + 9, width, text));
            if (x >= written.getOrDefault(it.slot(), 0.0)) {
                svg.append(fill("<text x=\"%.1f\" y=\"%.1f\">%s</text>", x, y(slots, it.slot()) + 7, text));
                written.put(it.slot(), x + length);
            }
            svg.append("</g>");
        }
        return svg.toString();
    }

    private static String words(Overlap it, Window window) {
        boolean broken = window.marks().stream().anyMatch(mark -> mark.at() == it.from());
        return "OVERLAP " + (it.to() == Operation.NEVER ? "to the end" : "for " + readable(it.to() - it.from())) + ": "
                + it.first() + " and " + it.second() + (broken ? "" : " (within the declared exposure)");
    }

    private static String call(Scale scale, Call it, double y) {
        double to = scale.x(it.to());
        String title = fill(
                "<title>%s, from %s to %s: %s</title>",
                it.process(),
                readable(it.from()),
                it.to() == Operation.NEVER ? "the end" : readable(it.to()),
                it.what());
        String line = fill(
                "<path class=\"call\" d=\"M%.1f %.1fH%.1f\"/>",
                scale.x(it.from()), y + 8, Math.max(scale.x(it.from()) + 1, to));
        boolean shown = !it.sign().isEmpty() && scale.shows(it.to());
        return "<g>" + title + line
                + (shown ? fill("<text class=\"sign\" x=\"%.1f\" y=\"%.1f\">%s</text>", to, y + 12, it.sign()) : "")
                + "</g>";
    }

    private static StringBuilder open(double height, String label) {
        return new StringBuilder(
                fill("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">", WIDTH + 4, height, label));
    }

    /** Some six instants. */
    private static String axis(Scale scale, double y) {
        StringBuilder svg = new StringBuilder(fill("<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>", LEFT, y, WIDTH));
        long step = 1;
        for (int factor = 0; (scale.to() - scale.from()) / step > 6; factor++) {
            step = factor % 3 == 1 ? step / 2 * 5 : step * 2;
        }
        for (long at = (scale.from() + step - 1) / step * step; at <= scale.to(); at += step) {
            svg.append(fill(
                    "<path class=\"axis\" d=\"M%.1f %.1fv4\"/><text class=\"small mid\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                    scale.x(at), y, Math.min(scale.x(at), WIDTH - 24), y + 14, instant(at, step)));
        }
        return svg.toString();
    }

    /** With as many digits as the step needs. */
    private static String instant(long at, long step) {
        if (step >= 1_000_000_000) {
            return fill("%d s", at / 1_000_000_000);
        } else if (step >= 1_000_000) {
            return fill("%d ms", at / 1_000_000);
        }
        return step >= 10_000 ? fill("%.2f ms", at / 1e6) : fill("%d ns", at);
    }

    /** Instants to places; what lies outside goes to the edge. */
    private record Scale(long from, long to) {
        double width() {
            return WIDTH - LEFT;
        }

        double x(long at) {
            double part = (Math.max(from, Math.min(to, at)) - from) / (double) (to - from);
            return LEFT + part * width();
        }

        boolean shows(long at) {
            return at >= from && at <= to;
        }
    }
}
