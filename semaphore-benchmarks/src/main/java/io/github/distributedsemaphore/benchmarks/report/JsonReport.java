package io.github.distributedsemaphore.benchmarks.report;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import io.github.distributedsemaphore.benchmarks.cells.Cell;
import io.github.distributedsemaphore.benchmarks.cells.CellResult;
import io.github.distributedsemaphore.benchmarks.cells.Sample;
import io.github.distributedsemaphore.benchmarks.cells.Series;
import io.github.distributedsemaphore.benchmarks.cells.Target;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A result with every round, for other programs.
 *
 * @param cell which
 * @param title what it measures
 * @param ended when
 * @param machine where
 * @param processes JVMs
 * @param rounds rounds
 * @param roundMillis their length
 * @param samples what each variant did in each round
 * @param targets what was to be reached
 */
public record JsonReport(
        String cell,
        String title,
        String ended,
        Machine machine,
        int processes,
        int rounds,
        long roundMillis,
        Map<String, List<Sample>> samples,
        List<Verdict> targets) {

    private record Machine(
            String system, int processors, double loadAverage, String java, String server, String redisson) {}

    private record Verdict(String claim, double bound, double median, double min, double max, boolean reached) {}

    public static JsonReport of(CellResult result, String serverVersion) {
        Cell cell = result.cell();
        return new JsonReport(
                cell.name(),
                cell.title(),
                Instant.now().truncatedTo(ChronoUnit.SECONDS).toString(),
                machine(serverVersion),
                cell.processes(),
                result.rounds(),
                result.millis(),
                result.samples(),
                cell.targets().stream().map(target -> verdict(target, result)).collect(Collectors.toList()));
    }

    private static Machine machine(String serverVersion) {
        return new Machine(
                System.getProperty("os.name") + " " + System.getProperty("os.arch"),
                Runtime.getRuntime().availableProcessors(),
                ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage(),
                Runtime.version().toString(),
                serverVersion,
                String.valueOf(org.redisson.Redisson.class.getPackage().getImplementationVersion()));
    }

    private static Verdict verdict(Target target, CellResult result) {
        Series series = target.figure().apply(result);
        return new Verdict(
                target.claim(), target.bound(), series.median(), series.min(), series.max(), target.isReached(result));
    }

    /** Writes it to a file, and returns which. */
    public Path writeTo(Path folder, String backend) {
        Gson gson = new GsonBuilder().setPrettyPrinting().create();
        Path file = folder.resolve(backend + "-" + cell + ".json");
        try {
            Files.createDirectories(folder);
            return Files.writeString(file, gson.toJson(this) + System.lineSeparator());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
