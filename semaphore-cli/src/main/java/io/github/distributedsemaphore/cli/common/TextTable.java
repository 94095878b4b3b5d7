package io.github.distributedsemaphore.cli.common;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Rows of cells in columns as wide as their widest cell. Not thread-safe. */
public final class TextTable {
    private static final String GAP = "  ";

    private final List<String[]> rows = new ArrayList<>();

    /**
     * Begins a table.
     *
     * @param heads its first row
     */
    public TextTable(String... heads) {
        rows.add(heads);
    }

    /**
     * Adds a row.
     *
     * @param cells as many as there are heads
     */
    public void add(String... cells) {
        if (cells.length != rows.get(0).length) {
            throw new IllegalArgumentException(
                    cells.length + " cells in a table of " + rows.get(0).length + " columns");
        }
        rows.add(Stream.of(cells).map(Terminal::clean).toArray(String[]::new));
    }

    @Override
    public String toString() {
        int[] widths = IntStream.range(0, rows.get(0).length).map(this::width).toArray();
        return rows.stream().map(cells -> line(cells, widths)).collect(Collectors.joining(System.lineSeparator()));
    }

    private static String line(String[] cells, int[] widths) {
        return IntStream.range(0, cells.length)
                .mapToObj(column -> cells[column] + " ".repeat(widths[column] - cells[column].length()))
                .collect(Collectors.joining(GAP))
                .stripTrailing();
    }

    private int width(int column) {
        return rows.stream().mapToInt(row -> row[column].length()).max().orElse(0);
    }
}
