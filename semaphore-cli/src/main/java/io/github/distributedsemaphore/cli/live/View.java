package io.github.distributedsemaphore.cli.live;

import io.github.distributedsemaphore.cli.live.Snapshot.Row;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** What the person at the terminal has chosen to see. For one thread. */
final class View {
    enum Sort {
        NAME,
        USE,
        OLDEST,
        CHANGE
    }

    private static final List<Sort> SORTS = List.of(Sort.values());

    private Sort sort = Sort.NAME;
    private boolean isReversed;
    private String filter = "";
    private boolean isTyping;
    private boolean isPaused;
    private boolean showsHelp;
    private boolean showsAllHolders;
    private boolean isOver;
    private String selected = "";
    private final Set<String> open = new HashSet<>();

    Sort sort() {
        return sort;
    }

    boolean isReversed() {
        return isReversed;
    }

    String filter() {
        return filter;
    }

    boolean isTyping() {
        return isTyping;
    }

    boolean isPaused() {
        return isPaused;
    }

    boolean showsHelp() {
        return showsHelp;
    }

    boolean isOver() {
        return isOver;
    }

    boolean isSelected(Row row) {
        return row.name().equals(selected);
    }

    boolean showsHolders(Row row) {
        return showsAllHolders != open.contains(row.name());
    }

    View withAllHolders() {
        showsAllHolders = true;
        return this;
    }

    /** The rows to show, in order. */
    List<Row> rows(Snapshot snapshot) {
        String wanted = filter.toLowerCase(Locale.ROOT);
        Comparator<Row> order = order(snapshot);
        return snapshot.rows().stream()
                .filter(row -> row.name().toLowerCase(Locale.ROOT).contains(wanted))
                .sorted((isReversed ? order.reversed() : order).thenComparing(Row::name))
                .toList();
    }

    private Comparator<Row> order(Snapshot snapshot) {
        return switch (sort) {
            case NAME -> Comparator.comparing(Row::name);
            case USE -> Comparator.comparingDouble(row -> -(double) row.held() / Math.max(1, row.limit()));
            case OLDEST -> Comparator.comparing(row -> row.oldest().orElse(Instant.MAX));
            case CHANGE -> Comparator.comparingLong(row -> -lastChange(snapshot, row));
        };
    }

    private static long lastChange(Snapshot snapshot, Row row) {
        return snapshot.changes().stream()
                .filter(change -> change.semaphore().equals(row.name()))
                .mapToLong(Change::reading)
                .max()
                .orElse(0);
    }

    /** Does what a key stands for; an unknown one nothing. */
    void press(String key, Snapshot snapshot) {
        if (key.equals(Keys.END_OF_INPUT)) {
            // No other key follows it.
            isOver = true;
        } else if (showsHelp) {
            showsHelp = false;
        } else if (isTyping) {
            type(key);
        } else {
            command(key, snapshot);
        }
    }

    private void type(String key) {
        switch (key) {
            case Keys.ENTER -> isTyping = false;
            case Keys.ESCAPE -> {
                isTyping = false;
                filter = "";
            }
            case Keys.BACKSPACE ->
                filter = filter.isEmpty() ? "" : filter.substring(0, filter.offsetByCodePoints(filter.length(), -1));
            default -> filter += Keys.isText(key) ? key : "";
        }
    }

    private void command(String key, Snapshot snapshot) {
        switch (key) {
            case "q", Keys.CONTROL_C -> isOver = true;
            case "s" -> sort = SORTS.get((SORTS.indexOf(sort) + 1) % SORTS.size());
            case "r" -> isReversed = !isReversed;
            case "/" -> isTyping = true;
            case Keys.ESCAPE -> filter = "";
            case " ", "p" -> isPaused = !isPaused;
            case "?", "h" -> showsHelp = true;
            case "v" -> {
                showsAllHolders = !showsAllHolders;
                open.clear();
            }
            case "j", Keys.DOWN -> move(1, snapshot);
            case "k", Keys.UP -> move(-1, snapshot);
            case Keys.ENTER -> toggleHolders(snapshot);
            default -> {}
        }
    }

    private void move(int by, Snapshot snapshot) {
        List<String> names = rows(snapshot).stream().map(Row::name).toList();
        int now = names.indexOf(selected);
        if (!names.isEmpty()) {
            selected = names.get(now < 0 ? 0 : Math.floorMod(now + by, names.size()));
        }
    }

    private void toggleHolders(Snapshot snapshot) {
        if (rows(snapshot).stream().noneMatch(this::isSelected)) {
            move(1, snapshot);
        }
        if (!open.remove(selected)) {
            open.add(selected);
        }
    }
}
