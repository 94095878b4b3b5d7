package io.github.distributedsemaphore.benchmarks.run;

import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.Cell;
import io.github.distributedsemaphore.benchmarks.cells.CellResult;
import io.github.distributedsemaphore.benchmarks.cells.RoundReport;
import io.github.distributedsemaphore.benchmarks.cells.RunSettings;
import io.github.distributedsemaphore.benchmarks.cells.Sample;
import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import io.github.distributedsemaphore.benchmarks.servers.MeasuredServer;
import io.github.distributedsemaphore.benchmarks.servers.TemporaryFolder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Measures one cell: all variants in turn, round after round, each first in another round. For one thread. */
public final class CellRun implements AutoCloseable {
    private final Backend backend;
    private final Cell cell;
    private final RunSettings settings;
    private final Progress progress;
    private final long millis;
    private final TemporaryFolder folder = TemporaryFolder.create("bench");
    private final Map<String, Stage> stages = new LinkedHashMap<>();
    private final List<MeasuredServer> servers = new ArrayList<>();
    private final Map<String, List<Sample>> samples = new LinkedHashMap<>();

    private record Stage(MeasuredServer server, HolderWatch watch, Bystanders bystanders) {}

    public CellRun(Backend backend, Cell cell, RunSettings settings, Progress progress) {
        this.backend = backend;
        this.cell = cell;
        this.settings = settings;
        this.progress = progress;
        this.millis = settings.roundMillis(cell);
    }

    /**
     * Measures.
     *
     * @throws BrokenRunException if a promise was broken meanwhile, or anything failed
     */
    public CellResult measure() {
        try (Crew crew = new Crew(cell.processes(), settings)) {
            cell.variants().forEach(variant -> open(crew, variant));
            warmUp(crew);
            for (int round = 0; round < settings.rounds(); round++) {
                for (int turn = 0; turn < cell.variants().size(); turn++) {
                    measure(crew, variant(round + turn), round);
                }
            }
            progress.clear();
            crew.disband();
            stages.values().forEach(stage -> stage.bystanders().close());
        }
        return new CellResult(cell, settings.rounds(), millis, samples);
    }

    private Variant variant(int turn) {
        return cell.variants().get(Math.floorMod(turn, cell.variants().size()));
    }

    private void open(Crew crew, Variant variant) {
        progress.show(cell.name(), "preparing " + variant.name());
        if (servers.isEmpty() || cell.ownServers()) {
            servers.add(backend.start(cell, folder.path()));
        }
        MeasuredServer server = servers.get(servers.size() - 1);
        Path file = folder.path().resolve("watch-" + stages.size());
        Stage stage = new Stage(server, HolderWatch.open(file, variant), new Bystanders(server));
        stages.put(variant.name(), stage);
        samples.put(variant.name(), new ArrayList<>());
        crew.open(variant, server.uri(), file);
        stage.bystanders().join(variant);
    }

    /** Goes through the code often enough for the compiler, without holds. Each variant by its own pairs: a slow one for longer. */
    private void warmUp(Crew crew) {
        Map<String, Long> pairs = new HashMap<>();
        List<Variant> cold = cell.variants();
        for (int round = 0; !cold.isEmpty(); round++) {
            for (Variant variant : cold) {
                progress.show(cell.name(), "warming up, " + variant.name());
                List<RoundReport> reports = crew.round(variant.holding(0), cell.roundMillis());
                requireNoViolation(variant);
                pairs.merge(
                        variant.name(),
                        reports.stream().mapToLong(RoundReport::pairs).sum(),
                        Long::sum);
            }
            int done = round + 1;
            cold = cold.stream()
                    .filter(variant -> settings.isCold(cell, done, pairs.getOrDefault(variant.name(), 0L)))
                    .toList();
        }
    }

    private void measure(Crew crew, Variant variant, int round) {
        progress.show(cell.name(), "round " + (round + 1) + " of " + settings.rounds() + ", " + variant.name());
        MeasuredServer server = stage(variant).server();
        ServerUse before = server.use();
        List<RoundReport> reports = crew.round(variant, millis);
        ServerUse use = server.use().since(before);
        requireNoViolation(variant);
        Objects.requireNonNull(samples.get(variant.name())).add(Sample.of(variant, reports, millis, use));
    }

    private Stage stage(Variant variant) {
        return Objects.requireNonNull(stages.get(variant.name()));
    }

    private void requireNoViolation(Variant variant) {
        List<String> violations = stage(variant).watch().violations();
        if (!violations.isEmpty()) {
            throw new BrokenRunException(
                    "cell " + cell.name() + ", " + variant.name() + ": " + String.join("; ", violations));
        }
    }

    /** The version of the server that was measured against. */
    public String serverVersion() {
        return servers.get(0).version();
    }

    @Override
    public void close() {
        servers.forEach(MeasuredServer::close);
        folder.close();
    }
}
