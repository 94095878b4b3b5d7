package io.github.distributedsemaphore.benchmarks.report;

import io.github.distributedsemaphore.benchmarks.cells.Cell;
import io.github.distributedsemaphore.benchmarks.cells.CellResult;
import io.github.distributedsemaphore.benchmarks.cells.Sample;
import io.github.distributedsemaphore.benchmarks.cells.Series;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** The result of a cell as a Markdown table, with the ratios and the targets below it. */
public final class TextReport {
    private record Column(String head, ToDoubleFunction<Sample> figure, boolean noise) {}

    private static final List<Column> COLUMNS = List.of(
            new Column("pairs/s (min..max)", Sample::pairsPerSecond, true),
            new Column("p50 us", Sample::p50Micros, false),
            new Column("p99 us", Sample::p99Micros, false),
            new Column("longest wait ms (min..max)", Sample::worstMillis, true));
    private static final List<Column> OF_PROCESSES = List.of(
            new Column("smallest share %", Sample::smallestShare, false),
            new Column("largest share %", Sample::largestShare, false));
    private static final List<Column> OF_HOLDS = List.of(new Column("permits used %", Sample::usedPercent, false));
    private static final List<Column> OF_HAND_OVERS = List.of(
            new Column("hand-overs", Sample::handOvers, false),
            new Column("hand-over p50 us (min..max)", Sample::handOverMicros, true));

    private final CellResult result;
    private final List<Column> costs;

    /**
     * Makes a report.
     *
     * @param result of what
     * @param workUnit what the server counts, in the plural
     */
    public TextReport(CellResult result, String workUnit) {
        this.result = result;
        this.costs = List.of(
                new Column(workUnit + "/pair", Sample::commandsPerPair, false),
                new Column("server us/pair", Sample::serverMicrosPerPair, false),
                new Column("clients us/pair", Sample::clientMicrosPerPair, false),
                new Column("clients bytes/pair", Sample::allocatedBytesPerPair, false));
    }

    public String text() {
        Cell cell = result.cell();
        List<String> lines = new ArrayList<>();
        lines.add("### " + cell.name() + ": " + cell.title());
        lines.add("");
        lines.add(result.rounds() + " rounds of " + result.millis()
                + " ms each, in turn and warm; medians over the rounds");
        lines.add("");
        lines.addAll(table());
        lines.add("");
        lines.addAll(ratios());
        lines.add("");
        cell.targets().forEach(target -> lines.add("- target: " + target.verdict(result)));
        return String.join(System.lineSeparator(), lines) + System.lineSeparator();
    }

    private List<Column> columns() {
        List<Column> columns = new ArrayList<>(COLUMNS);
        if (result.cell().processes() > 1) {
            columns.addAll(OF_PROCESSES);
        }
        Variant first = result.cell().variants().get(0);
        if (first.holdMicros() > 0) {
            columns.addAll(OF_HOLDS);
        }
        if (isHandOver()) {
            columns.addAll(OF_HAND_OVERS);
        }
        columns.addAll(costs);
        return columns;
    }

    private boolean isHandOver() {
        return result.cell().processes() > 1 && result.cell().variants().get(0).limit() == 1;
    }

    private List<String> table() {
        List<Column> columns = columns();
        List<List<String>> rows = new ArrayList<>();
        List<String> head = new ArrayList<>(List.of(""));
        columns.forEach(column -> head.add(column.head()));
        rows.add(head);
        for (Variant variant : result.cell().variants()) {
            List<String> row = new ArrayList<>(List.of(variant.name()));
            for (Column column : columns) {
                Series series = result.figure(variant.name(), column.figure());
                row.add(column.noise() ? series.toString() : Series.rounded(series.median()));
            }
            rows.add(row);
        }
        return aligned(rows);
    }

    private static List<String> aligned(List<List<String>> rows) {
        List<String> lines = new ArrayList<>();
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder("|");
            for (int i = 0; i < row.size(); i++) {
                int column = i;
                int width = rows.stream()
                        .mapToInt(other -> other.get(column).length())
                        .max()
                        .orElse(1);
                line.append(' ')
                        .append(row.get(i))
                        .append(" ".repeat(width - row.get(i).length()))
                        .append(" |");
            }
            lines.add(line.toString());
        }
        lines.add(1, "|" + " --- |".repeat(rows.get(0).size()));
        return lines;
    }

    /** The first variant against each other, within the same round. */
    private List<String> ratios() {
        List<String> lines = new ArrayList<>();
        List<Variant> variants = result.cell().variants();
        String first = variants.get(0).name();
        for (Variant other : variants.subList(1, variants.size())) {
            List<String> others = List.of(other.name());
            String line = "- '" + first + "' to '" + other.name() + "': pairs/s x "
                    + result.ratio(first, others, true, Sample::pairsPerSecond) + ", median acquire x "
                    + result.ratio(first, others, true, Sample::p50Micros);
            if (isHandOver()) {
                line += ", median hand-over x " + result.ratio(first, others, true, Sample::handOverMicros);
            }
            lines.add(line);
        }
        return lines;
    }
}
