package io.github.distributedsemaphore.cli.demo;

import io.github.distributedsemaphore.cli.common.Terminal;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A timeline per slot that grows in place: a figure is the worker that held the slot at that time. It is for 80 columns; a
 * narrower terminal shows less of each line.
 */
final class LiveScreen implements Screen {
    /** Of the timeline. */
    private static final int COLUMNS = 48;

    private static final String ESCAPE = "\u001b[";
    private static final String HIDE_CURSOR = ESCAPE + "?25l";
    private static final String SHOW_CURSOR = ESCAPE + "?25h";
    private static final String CLEAR_LINE = ESCAPE + "K";
    private static final String PLAIN = ESCAPE + "0m";

    private final PrintWriter out;
    private final double secondsPerColumn;
    private final int[][] workers = new int[Demo.SLOTS][COLUMNS];
    private int column = -1;
    private int linesDrawn;

    LiveScreen(PrintWriter out, Duration length) {
        this.out = out;
        this.secondsPerColumn = Math.max(0.1, length.toMillis() / 1000.0 / COLUMNS);
    }

    @Override
    public void show(Picture picture) {
        remember(picture);
        StringBuilder frame = new StringBuilder(linesDrawn == 0 ? HIDE_CURSOR : ESCAPE + linesDrawn + "A");
        linesDrawn = 0;
        for (int slot = 1; slot <= Demo.SLOTS; slot++) {
            line(
                    frame,
                    "slot " + slot + "  " + timeline(slot) + "  "
                            + holder(picture.holders().get(slot)));
        }
        String waiting = picture.waiting().stream().map(LiveScreen::coloured).collect(Collectors.joining(" "));
        line(frame, String.format(Locale.ROOT, "%5.1f s  waiting: %s", picture.seconds(), waiting));
        picture.news().forEach(news -> line(frame, news));
        out.print(frame);
        out.flush();
    }

    private void remember(Picture picture) {
        int now = Math.min(COLUMNS - 1, (int) (picture.seconds() / secondsPerColumn));
        for (; column < now; column++) {
            picture.holders().forEach((slot, turn) -> workers[slot - 1][column + 1] = turn.worker());
        }
    }

    private void line(StringBuilder frame, String text) {
        // First, for after a line that fills the terminal it would remove the last character.
        frame.append(CLEAR_LINE).append(Terminal.inOneLine("  " + text)).append('\n');
        linesDrawn++;
    }

    private String timeline(int slot) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < COLUMNS; i++) {
            int worker = workers[slot - 1][i];
            line.append(worker > 0 ? coloured(worker) : i <= column ? "." : " ");
        }
        return line.toString();
    }

    private static String holder(@Nullable Turn turn) {
        if (turn == null) {
            return "free";
        }
        return (turn.isOpen() ? "worker " : "killed ") + coloured(turn.worker());
    }

    private static String coloured(int worker) {
        return ESCAPE + (30 + worker % 8) + "m" + worker + PLAIN;
    }

    @Override
    public void close() {
        if (linesDrawn > 0) {
            out.print(SHOW_CURSOR);
        }
        out.flush();
    }
}
