package io.github.distributedsemaphore.benchmarks.run;

import java.io.PrintWriter;

/** One line on standard error that says where the run is; on a terminal only, else a line for each cell. */
public final class Progress {
    private static final String CLEAR = "\r\u001b[K";

    private final PrintWriter out;
    private final boolean live;
    private String cell = "";

    public Progress(PrintWriter out, boolean live) {
        this.out = out;
        this.live = live;
    }

    public void show(String cellName, String what) {
        if (live) {
            out.print(CLEAR + "bench: " + cellName + ": " + what);
            out.flush();
        } else if (!cell.equals(cellName)) {
            out.println("bench: " + cellName);
            out.flush();
        }
        cell = cellName;
    }

    public void clear() {
        if (live) {
            out.print(CLEAR);
            out.flush();
        }
    }
}
