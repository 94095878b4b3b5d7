package io.github.distributedsemaphore.cli.tck;

import io.github.distributedsemaphore.cli.common.Terminal;
import io.github.distributedsemaphore.tck.KitRunner;
import java.io.PrintWriter;
import java.util.function.Consumer;

/** Tells how far the kit has come: on a terminal in one line, elsewhere a line for each section and each failure. */
final class TckProgress implements Consumer<KitRunner.Ended> {
    private final PrintWriter out;
    private final boolean live;
    private String section = "";

    TckProgress(PrintWriter out, boolean live) {
        this.out = out;
        this.live = live;
    }

    static TckProgress on(PrintWriter out) {
        return new TckProgress(out, Terminal.takesErrors());
    }

    @Override
    public void accept(KitRunner.Ended test) {
        String at = String.format("[%3d/%3d] ", test.number(), test.of());
        boolean failed = test.outcome().equals("failed");
        if (live) {
            Terminal.replaceLine(out, at + test.section() + ": " + test.name());
            out.print(failed ? "\n" : "");
        } else if (failed || !section.equals(test.section())) {
            out.println(at + test.section() + (failed ? ": FAILED " + test.name() : ""));
        }
        section = test.section();
        out.flush();
    }

    /** Ends the line. */
    void end() {
        if (live) {
            Terminal.replaceLine(out, "");
        }
    }
}
