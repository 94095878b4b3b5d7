package io.github.distributedsemaphore.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class CalledWronglyTest {
    @TempDir
    private Path folder;

    /** Another run of JMH on this machine would hold the lock. */
    @BeforeAll
    static void needNoLock() {
        System.setProperty("jmh.ignoreLock", "true");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                // There is no such cell, so that nothing is measured where --rounds is let through.
                "redis --rounds 0 --cell none | --rounds is 0; it must be from 1 to 1000",
                "redis --rounds 1001 --cell none | --rounds is 1001; it must be from 1 to 1000",
                "redis --rounds 1 --cell none | no cell is called 'none'",
                "run --rounds 0 | --rounds is 0; it must be from 1 to 1000",
                "run --command no/such | --command is no/such; there is no such program",
                "engine ( | 'EngineBenchmark.(' is no regular expression: Unclosed group",
                "engine no-such | no benchmark's name matches 'no-such'",
            })
    void itNamesWhatIsWrongAndEndsWithTwo(String call, String message) {
        StringWriter errors = new StringWriter();
        CommandLine line = Main.commandLine(new Main()).setErr(new PrintWriter(errors, true));
        List<String> arguments = new ArrayList<>(List.of(call.split(" ")));
        if (!call.startsWith("run")) {
            arguments.add("--results=" + folder);
        }

        assertThat(line.execute(arguments.toArray(String[]::new))).isEqualTo(2);
        assertThat(errors.toString()).contains(message).doesNotContain("\tat ");
    }
}
