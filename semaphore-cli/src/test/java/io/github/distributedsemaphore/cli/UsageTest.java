package io.github.distributedsemaphore.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.cli.common.ExitCodes;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

final class UsageTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int execute(String... words) {
        CommandLine line = Main.commandLine(words);
        line.setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
        return line.execute(words);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''                                  | Which command?",
                "stauts                              | stauts",
                "create exports                      | LIMIT",
                "create exports three                | three",
                "status exports --jsno               | --jsno",
                "resize exports 3 --wait 5           | is no duration",
                "run exports true                    | Write --",
                "run exports --                      | Write --",
                "run -- exports true                 | Write --",
                "run exports env -- x                | Write --",
                "run exports --wait -- true          | --wait",
                "--backend nowhere status x          | A backend is given as a URI",
                "--backend nosuch: status x          | No backend for",
                "top --json                          | --once",
                "top --every 10ms                    | it must be from 1s to 1h",
                "ui --every 2h                       | it must be from 1s to 1h",
                "ui --port 65536                     | it must be from 1 to 65535",
                "tck --mode hasty                    | it must be quick, full or soak",
                "tck --mode soak=10                  | 10",
            })
    void wrongUsageEndsWith64AndOneLineThatNamesTheFault(String words, String fault) {
        int code = words.isEmpty() ? execute() : execute(words.split(" "));

        assertThat(code).isEqualTo(ExitCodes.USAGE);
        assertThat(err.toString()).startsWith("semaphore: ").contains(fault).hasLineCount(1);
        assertThat(out.toString()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"create", "list", "status", "top", "ui", "resize", "destroy", "run", "guarantees", "tck"})
    void everyCommandExplainsItselfAndItsExitCodes(String command) {
        assertThat(execute(command, "--help")).isZero();

        assertThat(out.toString()).contains("Usage: semaphore", command, "--backend", "Exit codes:", "64");
    }

    @Test
    void theHelpListsTheCommandsAndHidesTheDemonstration() {
        assertThat(execute("--help")).isZero();

        assertThat(out.toString()).contains("guarantees").doesNotContain("demo");
    }

    @Test
    void runSaysInItsHelpWhatHappensToTheCommandWhenItIsKilled() {
        assertThat(execute("run", "--help")).isZero();

        assertThat(out.toString()).contains("SIGKILL", "SEMAPHORE_SLOT", "128 + the signal", "cannot do");
    }

    @Test
    void runSaysInItsHelpWhichSignalIsNotPassedOn() {
        assertThat(execute("run", "--help")).isZero();

        assertThat(out.toString().replaceAll("\\s+", " "))
                .contains("A SIGINT that 'kill' sends to this program alone is for that reason not passed on while the"
                        + " program is in the foreground of a terminal; SIGTERM is.");
    }

    @Test
    void theVersionIsOneOfThisProgram() {
        assertThat(execute("--version")).isZero();

        assertThat(out.toString()).startsWith("semaphore ").contains("Java " + System.getProperty("java.version"));
    }
}
