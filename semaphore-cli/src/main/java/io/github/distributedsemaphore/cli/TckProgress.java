package io.github.distributedsemaphore.cli;

import io.github.distributedsemaphore.tck.KitRunner;
import java.io.PrintWriter;
import java.util.function.Consumer;

/** Tells how far the kit has come: on a terminal in one line, elsewhere a line for each section and each failure. */
final class TckProgress implements Consumer<KitRunner.Ended> {
    private static final String CLEAR_LINE = "\r\u001b[K";
    private static final int COLUMNS = 79;

    private final PrintWriter out;
    private final boolean live;
    private String section = "";

    TckProgress(PrintWriter out, boolean live) {
        this.out = out;
        this.live = live;
    }

    static TckProgress on(PrintWriter out) {
        return new TckProgress(out, Terminal.takesErrors() && !"dumb".equals(System.getenv("TERM")));
    }

    @Override
    public void accept(KitRunner.Ended test) {
        String at = String.format("[%3d/%3d] ", test.number(), test.of());
        boolean failed = test.outcome().equals("failed");
        if (live) {
            out.print(CLEAR_LINE + cut(at + test.section() + ": " + test.name()) + (failed ? "\n" : ""));
        } else if (failed || !section.equals(test.section())) {
            out.println(at + test.section() + (failed ? ": FAILED " + test.name() : ""));
        }
        section = test.section();
        out.flush();
    }

    private static String cut(String line) {
        return line.length() <= COLUMNS ? line : line.substring(0, COLUMNS);
    }

    /** Ends the line. */
    void end() {
        out.print(live ? CLEAR_LINE : "");
        out.flush();
    }
}
