package io.github.distributedsemaphore.cli.demo;

import static io.github.distributedsemaphore.cli.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.cli.CommandProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class DemoTest {
    @TempDir
    private Path folder;

    private CommandProcess start(String... words) throws IOException {
        return startWith("", words);
    }

    private CommandProcess startWith(String options, String... words) throws IOException {
        Files.createDirectories(folder.resolve("tmp"));
        Map<String, String> environment =
                Map.of("JAVA_TOOL_OPTIONS", "-Djava.io.tmpdir=" + folder.resolve("tmp") + " " + options);
        return CommandProcess.start(folder, environment, List.of(words));
    }

    private void assertNothingIsLeft(String output) throws IOException {
        Matcher semaphore =
                Pattern.compile("slots of (quickstart-\\w+) on local").matcher(output);
        assertThat(semaphore.find()).isTrue();
        try (Stream<Path> left = Files.list(folder.resolve("tmp"))) {
            assertThat(left.filter(file -> file.getFileName().toString().startsWith("semaphore-")))
                    .isEmpty();
        }
        try (Stream<ProcessHandle> all = ProcessHandle.allProcesses()) {
            assertThat(all.filter(process -> process.info()
                            .commandLine()
                            .filter(line -> line.contains(semaphore.group(1)))
                            .isPresent()))
                    .isEmpty();
        }
    }

    @Test
    void itShowsThatEveryPromiseIsKeptAndLeavesNothing() throws IOException {
        try (CommandProcess demo = start("demo", "--for", "3s")) {
            assertThat(demo.exitCode()).as(demo.out()).isZero();
            assertThat(demo.out())
                    .contains("killed worker 1", "most holders at once  3, limit 3", "Every promise was kept.")
                    .doesNotContain("BROKEN");
            assertNothingIsLeft(demo.out());
        }
    }

    @Test
    void whatAWorkersJvmPrintsIsNoEvent() throws IOException {
        try (CommandProcess demo = startWith("-Xlog:gc", "demo")) {
            // It begins once all workers have said that they are there.
            await().until(() -> demo.out().contains(" s  slot 1: "));
            demo.signal("INT");

            assertThat(demo.exitCode()).isEqualTo(130);
            assertNothingIsLeft(demo.out());
        }
    }

    @ParameterizedTest
    @CsvSource({"INT, 130", "HUP, 129"})
    void stoppedHalfWayItCleansUpAsWell(String signal, int code) throws IOException {
        Path state = folder.resolve("state");
        try (CommandProcess demo = start("demo", "--backend", "local:" + state)) {
            await().until(() -> demo.out().contains("slot 1: worker"));
            demo.signal(signal);

            assertThat(demo.exitCode()).isEqualTo(code);
            assertThat(demo.out()).contains("nothing was left behind");
            assertNothingIsLeft(demo.out());
        }
        try (CommandProcess status = start("--backend", "local:" + state, "status")) {
            assertThat(status.exitCode()).isZero();
            assertThat(status.out()).startsWith("no semaphores");
        }
    }
}
