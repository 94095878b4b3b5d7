package io.github.distributedsemaphore.benchmarks.report;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.Cell;
import io.github.distributedsemaphore.benchmarks.cells.Sample;
import io.github.distributedsemaphore.benchmarks.cells.Series;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.function.ToDoubleFunction;

/**
 * The results of one backend as a picture: for each cell the first variant against each other one, as a bar from 1 to the median
 * of the ratios within the rounds, with a line from the smallest to the largest. The same results give the same bytes.
 */
public final class Chart {
    private static final double LEFT = 372;
    private static final double RIGHT = 800;
    private static final double WIDTH = 1000;
    private static final double ROW = 24;
    private static final double TOP = 64;
    private static final int NARROWEST = 1; // powers of ten on either side of 1

    private final String backend;
    private final List<Row> rows = new ArrayList<>();
    private final TreeSet<String> origins = new TreeSet<>();

    /** One bar, or the heading of a cell if there is no ratio. */
    private record Row(String label, List<Series> ratio) {}

    private Chart(String backend) {
        this.backend = backend;
    }

    /**
     * Draws it.
     *
     * @param backend whose results
     * @param cells the cells, in the order of the picture; those without a result or with one variant only are left out
     * @param results the folder of the results
     * @return the picture as SVG
     * @throws BrokenRunException if there is no result at all
     */
    public static String of(String backend, List<Cell> cells, Path results) {
        Chart chart = new Chart(backend);
        for (Cell cell : cells) {
            Path file = results.resolve(backend + "-" + cell.name() + ".json");
            if (Files.exists(file)) {
                chart.add(read(file));
            }
        }
        if (chart.rows.isEmpty()) {
            throw new BrokenRunException("there is no result of " + backend + " in " + results + " to be drawn");
        }
        return chart.svg();
    }

    private static JsonObject read(Path file) {
        try {
            return JsonParser.parseString(Files.readString(file)).getAsJsonObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void add(JsonObject result) {
        List<Map.Entry<String, JsonElement>> variants =
                List.copyOf(result.getAsJsonObject("samples").entrySet());
        if (variants.size() < 2) {
            return; // nothing to be compared with: the table has it
        }
        List<Sample> ours = samples(variants.get(0).getValue());
        JsonObject machine = result.getAsJsonObject("machine");
        origins.add(result.get("ended").getAsString().substring(0, 10) + ", " + text(machine, "server") + ", "
                + text(machine, "processors") + " processors, " + text(result, "rounds") + " rounds of "
                + text(result, "roundMillis") + " ms");
        rows.add(new Row(text(result, "cell") + ": " + text(result, "title"), List.of()));
        for (Map.Entry<String, JsonElement> other : variants.subList(1, variants.size())) {
            List<Sample> theirs = samples(other.getValue());
            String names = variants.get(0).getKey() + " / " + other.getKey();
            rows.add(new Row(names, List.of(ratio(ours, theirs, Sample::pairsPerSecond, (a, b) -> a / b))));
            if (ours.stream().allMatch(it -> it.handOvers() > 0)
                    && theirs.stream().allMatch(it -> it.handOvers() > 0)) {
                rows.add(new Row(
                        names + ", speed of a hand-over",
                        List.of(ratio(ours, theirs, Sample::handOverMicros, (a, b) -> b / a))));
            }
        }
    }

    private static String text(JsonObject of, String name) {
        return of.get(name).getAsString();
    }

    private static List<Sample> samples(JsonElement array) {
        Gson gson = new Gson();
        return array.getAsJsonArray().asList().stream()
                .map(it -> gson.fromJson(it, Sample.class))
                .toList();
    }

    private static Series ratio(
            List<Sample> ours,
            List<Sample> theirs,
            ToDoubleFunction<Sample> figure,
            BiFunction<Double, Double, Double> ratio) {
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < Math.min(ours.size(), theirs.size()); i++) {
            ratios.add(ratio.apply(figure.applyAsDouble(ours.get(i)), figure.applyAsDouble(theirs.get(i))));
        }
        return new Series(ratios);
    }

    private String svg() {
        double most = rows.stream()
                .flatMap(row -> row.ratio().stream())
                .mapToDouble(it -> Math.max(Math.abs(Math.log10(it.max())), Math.abs(Math.log10(it.min()))))
                .filter(Double::isFinite)
                .max()
                .orElse(NARROWEST);
        int decades = (int) Math.max(NARROWEST, Math.ceil(most));
        double bottom = TOP + rows.size() * ROW;
        StringBuilder svg = new StringBuilder(fill(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"system-ui,sans-serif\" font-size=\"13\">\n",
                WIDTH, bottom + 30 + 16 * origins.size()));
        svg.append(PATTERN)
                .append(fill(
                        "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n",
                        WIDTH, bottom + 30 + 16 * origins.size()))
                .append(fill(
                        "<text x=\"8\" y=\"20\" font-size=\"17\" font-weight=\"bold\">%s: pairs of acquire and release in a second, as a ratio</text>\n",
                        backend))
                .append(
                        "<text x=\"8\" y=\"40\">right of 1, striped: the first one is faster; left of 1: slower. Bar: median of the rounds; line: smallest to largest</text>\n");
        for (int power = -decades; power <= decades; power++) {
            double x = x(Math.pow(10, power), decades);
            svg.append(fill(
                    "<path d=\"M%.1f %.1fV%.1f\" stroke=\"%s\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"11\">%s x</text>\n",
                    x,
                    TOP - 4,
                    bottom,
                    power == 0 ? "#000" : "#ccc",
                    x,
                    bottom + 14,
                    power < 0
                            ? String.format(Locale.ROOT, "%." + -power + "f", Math.pow(10, power))
                            : Long.toString(Math.round(Math.pow(10, power)))));
        }
        for (int i = 0; i < rows.size(); i++) {
            svg.append(row(rows.get(i), TOP + i * ROW, decades));
        }
        int line = 0;
        for (String origin : origins) {
            svg.append(fill(
                    "<text x=\"8\" y=\"%.1f\" font-size=\"11\" fill=\"#555\">%s</text>\n",
                    bottom + 34 + 16 * line++, origin));
        }
        return svg.append("</svg>\n").toString();
    }

    private static String row(Row row, double y, int decades) {
        if (row.ratio().isEmpty()) {
            return fill("<text x=\"8\" y=\"%.1f\" font-weight=\"bold\">%s</text>\n", y + 17, row.label());
        }
        Series ratio = row.ratio().get(0);
        double median = x(ratio.median(), decades);
        double one = x(1, decades);
        double middle = y + ROW / 2;
        return fill("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>", LEFT - 8, y + 17, row.label())
                + fill(
                        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\" fill=\"%s\" stroke=\"#333\"/>",
                        Math.min(one, median),
                        y + 4,
                        Math.max(1, Math.abs(median - one)),
                        ratio.median() >= 1 ? "url(#faster)" : "#f4c05f")
                + fill(
                        "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fv8M%.1f %.1fv8\" stroke=\"#000\" stroke-width=\"1.5\" fill=\"none\"/>",
                        x(ratio.min(), decades),
                        middle,
                        x(ratio.max(), decades),
                        x(ratio.min(), decades),
                        middle - 4,
                        x(ratio.max(), decades),
                        middle - 4)
                + fill("<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", RIGHT + 12, y + 17, ratio.toString());
    }

    private static double x(double ratio, int decades) {
        double power = Math.max(-decades, Math.min(decades, Math.log10(ratio)));
        return LEFT + (power + decades) / (2 * decades) * (RIGHT - LEFT);
    }

    private static final String PATTERN =
            "<defs><pattern id=\"faster\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
                    + "<path d=\"M0 0H8V8H0z\" fill=\"#8fcdf0\"/><path d=\"M0 8L8 0\" stroke=\"#33617c\"/></pattern></defs>\n";

    private static String fill(String template, Object... values) {
        Object[] safe = values.clone();
        for (int i = 0; i < safe.length; i++) {
            if (safe[i] instanceof String text) {
                safe[i] = text.replace("&", "&amp;")
                        .replace("<", "&lt;")
                        .replace(">", "&gt;")
                        .replace("\"", "&quot;");
            }
        }
        return String.format(Locale.ROOT, template, safe);
    }
}
