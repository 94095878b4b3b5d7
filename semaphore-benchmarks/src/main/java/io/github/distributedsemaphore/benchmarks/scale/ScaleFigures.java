package io.github.distributedsemaphore.benchmarks.scale;

import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import io.github.distributedsemaphore.benchmarks.run.Progress;
import io.github.distributedsemaphore.benchmarks.servers.MeasuredServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** What a run has measured so far, and how. */
public final class ScaleFigures {
    private static final Duration SETTLE = Duration.ofSeconds(8);

    private final MeasuredServer server;
    private final Progress progress;
    private final int seconds;
    private final Map<String, Double> figures = new LinkedHashMap<>();

    /**
     * Begins without any.
     *
     * @param server what is measured
     * @param progress says where the run is
     * @param seconds how long a measurement takes
     */
    public ScaleFigures(MeasuredServer server, Progress progress, int seconds) {
        this.server = server;
        this.progress = progress;
        this.seconds = seconds;
    }

    MeasuredServer server() {
        return server;
    }

    int seconds() {
        return seconds;
    }

    void progress(String what) {
        progress.show("scale", what);
    }

    void add(String what, double value) {
        figures.put(what, value);
    }

    /** Waits until the last change has settled, and then looks what the server does. */
    ServerUse use(Runnable begun) throws InterruptedException {
        TimeUnit.MILLISECONDS.sleep(SETTLE.toMillis());
        begun.run();
        ServerUse before = server.use();
        TimeUnit.SECONDS.sleep(seconds);
        return server.use().since(before);
    }

    /** A line for each. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        figures.forEach((what, value) -> text.append(String.format(Locale.ROOT, "  %-60s %,14.3f%n", what, value)));
        return text.toString();
    }

    /** Resident memory of the processes that this one started, in bytes. */
    static long memory() {
        return ProcessHandle.current()
                .descendants()
                .mapToLong(ScaleFigures::memory)
                .sum();
    }

    private static long memory(ProcessHandle process) {
        try {
            return Files.readAllLines(Path.of("/proc/" + process.pid() + "/status")).stream()
                    .filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
                    .sum();
        } catch (IOException e) {
            return 0; // It has just ended, or this is not Linux.
        }
    }
}
