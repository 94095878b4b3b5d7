package io.github.distributedsemaphore.cli.live;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.cli.live.Snapshot.Row;
import io.github.distributedsemaphore.spi.support.Durations;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Draws a snapshot as the lines of a terminal, none of them wider than that and no more than fit. Immutable. */
final class Picture {
    private static final int SHORTEST_NAME = 16;
    private static final int LONGEST_NAME = 40;
    private static final int CHANGES = 7;
    private static final int BAR = 10;
    private static final int HELD = 8;
    private static final int FREE = 6;
    private static final int RETIRED = 9;
    private static final int OLDEST = 9;
    private static final int FIXED = 2 + CHANGES + BAR + HELD + FREE + RETIRED + OLDEST + 2;
    private static final int MOST_READINGS = 60;
    private static final int LINES_AROUND_ROWS = 5;

    private static final String RED = "31";
    private static final String GREEN = "32";
    private static final String YELLOW = "33";
    private static final String DIM = "2";
    private static final String BOLD = "1";
    private static final String INVERSE = "7";

    private static final List<String> HELP = List.of(
            "",
            "  up, down, j, k   select a semaphore",
            "  enter            show the holders of the selected one, or hide them",
            "  v                show the holders of all, or hide them",
            "  s, r             sort by name, use, oldest hold or last change; reverse the order",
            "  /                show only names that contain a text; enter keeps it, escape clears it",
            "  space, p         pause: the picture stands still, the readings go on",
            "  q, Ctrl-C        quit",
            "",
            "  + taken   - freed   > passed on to another holder   x expired   ~ retired",
            "  A retired slot is beyond the limit and still held. An expired one is given away at the next acquire.",
            "  What begins and ends between two readings is not seen. Ages are by the clocks of the holders' hosts.",
            "  Clients that wait are in no backend, so no view of it can show them.",
            "",
            "  any key returns");

    private final int width;
    private final int height;
    private final boolean hasUnicode;
    private final boolean hasColour;
    private final ZoneId zone;

    /**
     * @param width columns of the terminal
     * @param height its lines
     * @param hasUnicode whether it can show more than ASCII
     * @param hasColour whether it is to be coloured
     * @param zone of the time of day
     */
    Picture(int width, int height, boolean hasUnicode, boolean hasColour, ZoneId zone) {
        this.width = Math.max(1, width);
        this.height = Math.max(1, height);
        this.hasUnicode = hasUnicode;
        this.hasColour = hasColour;
        this.zone = zone;
    }

    List<String> lines(Snapshot snapshot, View view) {
        List<String> lines = new ArrayList<>();
        lines.add(title(snapshot));
        lines.add(state(snapshot));
        lines.add(choice(view));
        if (view.showsHelp()) {
            HELP.forEach(line -> lines.add(cell(line, width)));
        } else {
            lines.add(colour(INVERSE, cell(heads(), width)));
            lines.addAll(body(snapshot, view));
        }
        while (lines.size() < height - 1) {
            lines.add("");
        }
        List<String> shown = new ArrayList<>(lines.subList(0, Math.max(1, Math.min(lines.size(), height - 1))));
        if (height > 1) {
            shown.add(colour(DIM, keys(view)));
        }
        return shown.stream().map(this::cut).toList();
    }

    private String title(Snapshot snapshot) {
        String time = LocalTime.ofInstant(snapshot.at(), zone)
                .truncatedTo(ChronoUnit.SECONDS)
                .format(DateTimeFormatter.ISO_LOCAL_TIME);
        String left = "semaphore top  " + clean(snapshot.source().address()) + "  detection "
                + Durations.format(snapshot.source().detection());
        return colour(BOLD, cell(left, width - time.length() - 1) + " " + time);
    }

    private String state(Snapshot snapshot) {
        if (!snapshot.trouble().isEmpty()) {
            String text = "NO ANSWER for " + age(snapshot.silence()) + ", shown is the last one: " + snapshot.trouble();
            return colour(RED + ";" + INVERSE, cell(clean(text), width));
        }
        if (snapshot.reading() == 0) {
            return cell("asking for the first time", width);
        }
        int held = snapshot.rows().stream().mapToInt(Row::held).sum();
        int limit = snapshot.rows().stream().mapToInt(Row::limit).sum();
        int count = snapshot.rows().size();
        return cell(
                count + (count == 1 ? " semaphore, " : " semaphores, ") + held + " of " + limit
                        + " slots held; a reading every "
                        + seconds(snapshot.took().plus(snapshot.pause())) + " takes "
                        + seconds(snapshot.took()),
                width);
    }

    private static String seconds(Duration time) {
        return time.toMillis() < 950
                ? time.toMillis() + " ms"
                : String.format(Locale.ROOT, "%.1f s", time.toMillis() / 1000.0);
    }

    private String choice(View view) {
        String text = "sorted by " + view.sort().name().toLowerCase(Locale.ROOT)
                + (view.isReversed() ? ", reversed" : "")
                + (view.filter().isEmpty() && !view.isTyping()
                        ? ""
                        : "; only names with: " + clean(view.filter()) + (view.isTyping() ? "_" : ""));
        return view.isPaused()
                ? colour(YELLOW + ";" + INVERSE, "PAUSED") + cell("  " + text, width - 6)
                : cell(text, width);
    }

    private String heads() {
        return "  " + cell("NAME", nameColumns()) + " ".repeat(CHANGES) + cell("HELD", BAR + HELD)
                + right("FREE", FREE) + right("RETIRED", RETIRED) + right("OLDEST", OLDEST) + "  "
                + cell("LAST " + readings() + (readings() < 20 ? "" : " READINGS"), readings());
    }

    private int nameColumns() {
        return Math.max(SHORTEST_NAME, Math.min(LONGEST_NAME, width - FIXED - MOST_READINGS));
    }

    private int readings() {
        return Math.max(0, Math.min(MOST_READINGS, width - FIXED - nameColumns()));
    }

    /** The rows around the selected one, as many as fit. */
    private List<String> body(Snapshot snapshot, View view) {
        List<String> lines = new ArrayList<>();
        int selected = 0;
        int selectedEnd = 0;
        for (Row row : view.rows(snapshot)) {
            selected = view.isSelected(row) ? lines.size() : selected;
            lines.add(row(snapshot, view, row));
            if (view.showsHolders(row)) {
                row.holders().forEach(holder -> lines.add(holder(snapshot, holder)));
            }
            selectedEnd = view.isSelected(row) ? lines.size() : selectedEnd;
        }
        int room = Math.max(1, height - LINES_AROUND_ROWS);
        int from = Math.max(0, Math.min(selected, selectedEnd - room));
        if (lines.isEmpty() && snapshot.reading() > 0 && snapshot.trouble().isEmpty()) {
            return List.of("  no semaphore" + (view.filter().isEmpty() ? "" : " with that in its name"));
        }
        return lines.subList(from, Math.min(lines.size(), from + room));
    }

    private String row(Snapshot snapshot, View view, Row row) {
        List<Change> changes = snapshot.changesNow(row.name());
        String mark = view.isSelected(row) ? (hasUnicode ? "▶ " : "> ") : "  ";
        String name = cell(clean(row.name()), nameColumns() - 1) + " ";
        String line = mark + (changes.isEmpty() ? name : colour(BOLD, name)) + changes(changes);
        if (row.now() == null) {
            return line + colour(RED, clean(row.problem()));
        }
        long retired = row.count(HolderState.RETIRED);
        String oldest = row.oldest()
                .map(since -> age(Duration.between(since, snapshot.at())))
                .orElse("-");
        return line + bar(row) + right(row.held() + "/" + row.limit(), HELD)
                + right(String.valueOf(row.free()), FREE)
                + (retired == 0 ? right("-", RETIRED) : colour(YELLOW, right(String.valueOf(retired), RETIRED)))
                + right(oldest, OLDEST) + "  " + sparkline(row);
    }

    /** Such as {@code +2 -1}. */
    private String changes(List<Change> changes) {
        String text = changes.stream()
                .collect(Collectors.groupingBy(
                        Change::kind, () -> new EnumMap<>(Change.Kind.class), Collectors.counting()))
                .entrySet()
                .stream()
                .map(entry -> entry.getKey().mark() + entry.getValue())
                .collect(Collectors.joining(" "));
        boolean isBad = changes.stream()
                .anyMatch(change -> change.kind() == Change.Kind.EXPIRED || change.kind() == Change.Kind.GONE);
        return text.isEmpty() ? " ".repeat(CHANGES) : colour(isBad ? RED : GREEN, cell(text, CHANGES - 1) + " ");
    }

    private String bar(Row row) {
        int full = row.held() == 0 ? 0 : Math.max(1, Math.round((float) BAR * row.held() / row.limit()));
        full = row.free() > 0 ? Math.min(full, BAR - 1) : BAR;
        String text = (hasUnicode ? "█" : "#").repeat(full) + (hasUnicode ? "░" : ".").repeat(BAR - full);
        return colour(row.free() == 0 ? YELLOW : GREEN, text);
    }

    private String sparkline(Row row) {
        List<Integer> past = row.past();
        String steps = hasUnicode ? "▁▂▃▄▅▆▇█" : "_.-:=+*#";
        return past.subList(Math.max(0, past.size() - readings()), past.size()).stream()
                .map(use -> use == Row.UNKNOWN ? " " : step(steps, use, Math.max(row.limit(), use)))
                .collect(Collectors.joining());
    }

    private static String step(String steps, int use, int most) {
        int last = steps.length() - 1;
        // None and all have steps of their own.
        int step = use == 0 ? 0 : use == most ? last : Math.max(1, Math.min(last - 1, use * last / most));
        return steps.substring(step, step + 1);
    }

    private String holder(Snapshot snapshot, Holder holder) {
        Instant since = holder.since();
        String text = "      slot " + cell(String.valueOf(holder.slot()), 5)
                + cell(holder.host().isEmpty() ? "host unknown" : clean(holder.host()), 18) + "  "
                + cell(holder.pid() == 0 ? "" : "pid " + holder.pid(), 12)
                + cell(since == null ? "" : "for " + age(Duration.between(since, snapshot.at())), 14)
                + cell(holder.state().name().toLowerCase(Locale.ROOT), 9) + clean(holder.label());
        return colour(
                switch (holder.state()) {
                    case HELD -> DIM;
                    case RETIRED -> YELLOW;
                    case EXPIRED -> RED;
                },
                cell(text, width));
    }

    private String keys(View view) {
        if (view.isTyping()) {
            return "type a part of the name; enter keeps it, escape clears it";
        }
        return "? help  q quit  space pause  s sort  r reverse  / filter  " + (hasUnicode ? "↑↓" : "j k")
                + " select  enter holders  v all holders";
    }

    /** An age in at most two units; what lies in the future is by another clock, and 0. */
    static String age(Duration age) {
        long seconds = Math.max(0, age.toSeconds());
        if (seconds < 60) {
            return seconds + "s";
        }
        if (seconds < 3_600) {
            return seconds / 60 + "m " + twoDigits(seconds % 60) + "s";
        }
        if (seconds < 86_400) {
            return seconds / 3_600 + "h " + twoDigits(seconds % 3_600 / 60) + "m";
        }
        return seconds / 86_400 + "d " + twoDigits(seconds % 86_400 / 3_600) + "h";
    }

    private static String twoDigits(long number) {
        return (number < 10 ? "0" : "") + number;
    }

    /** Nothing that a name holds may command the terminal. */
    private String clean(String text) {
        return text.codePoints()
                .map(point -> isShown(point) ? point : '?')
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
    }

    private boolean isShown(int point) {
        return switch (Character.getType(point)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> false;
            default -> hasUnicode || point < 128;
        };
    }

    /** Fills a text up with spaces, or cuts it, to a number of columns. */
    private String cell(String text, int columns) {
        StringBuilder cell = new StringBuilder();
        int used = 0;
        int fits = columns(text) <= columns ? columns : columns - 1;
        for (int point : text.codePoints().toArray()) {
            if (used + columns(point) > fits) {
                break;
            }
            cell.appendCodePoint(point);
            used += columns(point);
        }
        if (fits < columns && columns > 0) {
            cell.append(hasUnicode ? "…" : "~");
            used++;
        }
        return cell.append(" ".repeat(Math.max(0, columns - used))).toString();
    }

    /** Cuts a line that is too long, for none may wrap. What sets colours takes no column. */
    private String cut(String line) {
        StringBuilder kept = new StringBuilder();
        int used = 0;
        for (int i = 0; i < line.length(); i += Character.charCount(line.codePointAt(i))) {
            if (line.charAt(i) == '\u001b') {
                int end = line.indexOf('m', i);
                kept.append(line, i, end + 1);
                i = end;
                continue;
            }
            int point = line.codePointAt(i);
            used += columns(point);
            if (used <= width) {
                kept.appendCodePoint(point);
            }
        }
        return kept.toString();
    }

    private static String right(String text, int columns) {
        return " ".repeat(Math.max(0, columns - text.length())) + text;
    }

    private static int columns(String text) {
        return text.codePoints().map(Picture::columns).sum();
    }

    /** How many columns terminals give to a character: none to marks, two to East Asian wide ones and to pictures. */
    private static int columns(int point) {
        int type = Character.getType(point);
        if (type == Character.NON_SPACING_MARK || type == Character.ENCLOSING_MARK) {
            return 0;
        }
        boolean isWide = (point >= 0x1100 && point <= 0x115f)
                || (point >= 0x2e80 && point <= 0xa4cf)
                || (point >= 0xac00 && point <= 0xd7a3)
                || (point >= 0xf900 && point <= 0xfaff)
                || (point >= 0xfe30 && point <= 0xfe6f)
                || (point >= 0xff00 && point <= 0xff60)
                || (point >= 0xffe0 && point <= 0xffe6)
                || (point >= 0x1f300 && point <= 0x1f6ff)
                || (point >= 0x1f900 && point <= 0x1f9ff)
                || (point >= 0x20000 && point <= 0x3fffd);
        return isWide ? 2 : 1;
    }

    private String colour(String code, String text) {
        return hasColour ? "\u001b[" + code + "m" + text + "\u001b[0m" : text;
    }
}
