package io.github.distributedsemaphore.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.benchmarks.cells.Cell;
import io.github.distributedsemaphore.benchmarks.cells.Mode;
import io.github.distributedsemaphore.benchmarks.cells.Sample;
import io.github.distributedsemaphore.benchmarks.cells.Target;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import io.github.distributedsemaphore.benchmarks.run.PlantedWorker;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The runner with its workers, on a server of its own; nothing here says anything about speed. */
class RunnerTest {
    private static final Target IMPOSSIBLE =
            Target.atLeast(1e12, "pairs/s", result -> result.figure("semaphore", Sample::pairsPerSecond));

    private final StringWriter out = new StringWriter();
    private final StringWriter log = new StringWriter();

    @TempDir
    private Path folder;

    private int run(Class<?> workerMain, Variant... variants) {
        Cell cell = new Cell("test", "a test", 2, 900, false, List.of(variants), List.of(IMPOSSIBLE));
        CommandLine line = Main.commandLine(new RedisCommand(List.of(cell), workerMain));
        line.setOut(new PrintWriter(out)).setErr(new PrintWriter(log));
        return line.execute("--quick", "--rounds=2", "--results=" + folder, "--worker-option=-XX:TieredStopAtLevel=1");
    }

    @Test
    void everyVariantHasFiguresAndEveryTargetAVerdict() throws Exception {
        int exit = run(
                Main.class,
                Variant.of(Mode.SEMAPHORE, 2, 3),
                Variant.of(Mode.REDISSON_EXPIRABLE, 2, 3),
                Variant.of(Mode.FLOOR, 2, 3));

        assertThat(log.toString()).doesNotContain("broken");
        assertThat(exit).isZero();
        assertThat(out.toString())
                .contains("| semaphore ", "| redisson-expirable ", "| floor ", "- 'semaphore' to 'floor': ")
                .contains("clients us/pair", "clients bytes/pair")
                .contains("pairs/s: ")
                .contains("NOT REACHED");
        assertThat(Files.readString(folder.resolve("redis-test.json")))
                .contains("\"redisson-expirable\"", "\"p99Micros\"", "\"reached\": false");
    }

    @Test
    void aRunThatBreaksThePromiseHasNoFigures() {
        int exit = run(PlantedWorker.class, Variant.of(Mode.SEMAPHORE, 2, 1).holding(5_000));

        assertThat(exit).isEqualTo(1);
        assertThat(out.toString()).isEmpty();
        assertThat(log.toString()).contains("without figures", "above the limit of 1", "entered a slot that was held");
        assertThat(folder).isEmptyDirectory();
    }
}
