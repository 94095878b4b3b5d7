package io.github.distributedsemaphore.benchmarks;

import io.github.distributedsemaphore.benchmarks.cells.Cell;
import io.github.distributedsemaphore.benchmarks.cells.CellResult;
import io.github.distributedsemaphore.benchmarks.cells.RunSettings;
import io.github.distributedsemaphore.benchmarks.report.Chart;
import io.github.distributedsemaphore.benchmarks.report.JsonReport;
import io.github.distributedsemaphore.benchmarks.report.TextReport;
import io.github.distributedsemaphore.benchmarks.run.Backend;
import io.github.distributedsemaphore.benchmarks.run.CellRun;
import io.github.distributedsemaphore.benchmarks.run.Progress;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** Measures the cells of one backend. */
abstract class CellsCommand implements Runnable {
    private static final int ROUNDS = 11;

    /** For so long the compiler is busy with code that sixteen threads go through on two processors. */
    private static final Duration SHORTEST_WARM_UP = Duration.ofSeconds(10);

    private static final Duration LONGEST_WARM_UP = Duration.ofSeconds(30);
    private static final int QUICK_ROUNDS = 3;
    private static final int QUICK_FACTOR = 3;

    private final Backend backend;
    private final List<Cell> all;
    private final Class<?> workerMain;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Option(names = "--cell", paramLabel = "NAME", description = "only this cell; may be given several times")
    private List<String> cells = new ArrayList<>();

    @Option(names = "--list", description = "name the cells, and what they measure")
    private boolean list;

    @Option(names = "--rounds", paramLabel = "N", description = "how many rounds count; default: " + ROUNDS)
    private @Nullable Integer rounds;

    @Option(
            names = "--quick",
            description = "few and short rounds: shows that everything works, its figures are worth little")
    private boolean quick;

    @Option(
            names = "--results",
            paramLabel = "DIR",
            defaultValue = "${sys:bench.results:-target/results}",
            description = "where the JSON goes; default: ${DEFAULT-VALUE}")
    private Path results = Path.of("target/results");

    @Option(
            names = "--svg",
            description =
                    "draw the results of this backend that are in the folder, after the run, as benchmarks-BACKEND.svg")
    private boolean svg;

    @Option(names = "--draw-only", description = "draw the results that are in the folder, and measure nothing")
    private boolean drawOnly;

    @Option(
            names = "--pictures",
            paramLabel = "DIR",
            defaultValue = "${sys:bench.pictures:-target/results}",
            description = "where the picture goes; default: ${DEFAULT-VALUE}")
    private Path pictures = Path.of("target/results");

    @Option(
            names = "--worker-option",
            paramLabel = "OPTION",
            description = "an option for the JVMs under measurement, say of a profiler; may be given several times")
    private List<String> workerOptions = new ArrayList<>();

    @Option(names = "--live", hidden = true, description = "overwrite the line of progress")
    private boolean live;

    /**
     * Makes the command.
     *
     * @param backend what is measured
     * @param all what can be measured of it
     * @param workerMain the class that a worker starts with
     */
    CellsCommand(Backend backend, List<Cell> all, Class<?> workerMain) {
        this.backend = backend;
        this.all = List.copyOf(all);
        this.workerMain = workerMain;
    }

    @Override
    public void run() {
        PrintWriter out = spec.commandLine().getOut();
        PrintWriter log = spec.commandLine().getErr();
        if (list) {
            all.forEach(cell -> out.printf("%-20s %s%n", cell.name(), cell.title()));
            return;
        }
        if (!drawOnly) {
            measure(out, log);
        }
        if (svg || drawOnly) {
            log.println("bench: the picture is " + draw());
        }
    }

    private Path draw() {
        String picture = Chart.of(backend.name(), all, results);
        try {
            Files.createDirectories(pictures);
            return Files.writeString(pictures.resolve("benchmarks-" + backend.name() + ".svg"), picture);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void measure(PrintWriter out, PrintWriter log) {
        RunSettings settings = settings();
        for (Cell cell : chosen()) {
            Progress progress = new Progress(log, live);
            try (CellRun run = new CellRun(backend, cell, settings, progress)) {
                CellResult result = run.measure();
                Path file = JsonReport.of(result, run.serverVersion()).writeTo(results, backend.name());
                out.println(new TextReport(result, backend.workUnit()).text());
                out.flush();
                log.println("bench: every round is in " + file);
            } finally {
                progress.clear();
            }
        }
    }

    private RunSettings settings() {
        if (rounds != null && (rounds < 1 || rounds > 1_000)) {
            throw new CommandLine.ParameterException(
                    spec.commandLine(), "--rounds is " + rounds + "; it must be from 1 to 1000");
        }
        int counted = rounds != null ? rounds : quick ? QUICK_ROUNDS : ROUNDS;
        return quick
                ? new RunSettings(counted, Duration.ZERO, Duration.ZERO, QUICK_FACTOR, workerMain, workerOptions)
                : new RunSettings(counted, SHORTEST_WARM_UP, LONGEST_WARM_UP, 1, workerMain, workerOptions);
    }

    private List<Cell> chosen() {
        for (String name : cells) {
            if (all.stream().noneMatch(cell -> cell.name().equals(name))) {
                List<String> names = all.stream().map(Cell::name).toList();
                throw new CommandLine.ParameterException(
                        spec.commandLine(), "no cell is called '" + name + "'; there are: " + String.join(", ", names));
            }
        }
        return all.stream()
                .filter(cell -> cells.isEmpty() || cells.contains(cell.name()))
                .toList();
    }
}
