package io.github.distributedsemaphore.cli;

import static io.github.distributedsemaphore.cli.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class RunCommandTest {
    @TempDir
    private Path folder;

    private LocalCommands semaphore;

    @BeforeEach
    void useOwnFolder() {
        semaphore = new LocalCommands(folder);
    }

    @Test
    void theCommandsStreamsEnvironmentAndExitCodePassThrough() {
        String script =
                "cat; echo $SEMAPHORE_NAME $SEMAPHORE_SLOT; test -n \"$SEMAPHORE_EPOCH\" && echo fail >&2; exit 42";
        try (CommandProcess run = semaphore.run("job --limit 1", script)) {
            run.input("some input\n");

            assertThat(run.exitCode()).isEqualTo(42);
            assertThat(run.out()).isEqualTo("some input\njob 1\n");
            assertThat(run.err()).isEqualTo("fail\n");
        }
        assertThat(semaphore.execute("status", "job").out()).isEqualTo("job: limit 1, free 1\n");
    }

    @Test
    void severalPermitsAreSeveralSlots() {
        try (CommandProcess run = semaphore.run("job --limit 3 --permits 2", "echo $SEMAPHORE_SLOT/$SEMAPHORE_EPOCH")) {
            assertThat(run.exitCode()).isZero();
            assertThat(run.out()).matches("\\d,\\d/\\d+,\\d+\n");
        }
    }

    @ParameterizedTest
    @CsvSource({"TERM", "INT", "HUP"})
    void signalsReachTheCommandWhichDecides(String signal) {
        String script = "trap 'echo got; exit 9' " + signal + "; echo > ready; while :; do sleep 0.01; done";
        try (CommandProcess run = semaphore.run("job --limit 1", script)) {
            await().until(() -> semaphore.file("ready").equals("\n"));
            run.signal(signal);

            assertThat(run.exitCode()).isEqualTo(9);
            assertThat(run.out()).isEqualTo("got\n");
        }
    }

    @Test
    void aCommandThatDiesByASignalGivesTheShellsCode() {
        try (CommandProcess run = semaphore.run("job --limit 1", "kill -s KILL $$")) {
            assertThat(run.exitCode()).isEqualTo(128 + 9);
        }
        assertThat(semaphore.execute("status", "job").out()).isEqualTo("job: limit 1, free 1\n");
    }

    @Test
    void aMissingSemaphoreAnotherLimitAndAFullOneHaveCodesOfTheirOwn() {
        assertThat(semaphore.execute("run", "job", "--", "true").code()).isEqualTo(5);
        semaphore.execute("create", "job", "1");
        assertThat(semaphore.execute("run", "job", "--limit", "2", "--", "true").code())
                .isEqualTo(3);
        assertThat(semaphore
                        .execute("run", "job", "--permits", "2", "--", "true")
                        .code())
                .isEqualTo(64);
        try (CommandProcess holder = semaphore.run("job", "echo > ready; read unused")) {
            await().until(() -> semaphore.file("ready").equals("\n"));

            LocalCommands.Outcome full = semaphore.execute("run", "job", "--wait", "0s", "--", "true");
            assertThat(full.code()).isEqualTo(75);
            assertThat(full.err()).contains("job", "no slot was free within 0s").hasLineCount(1);
            assertThat(holder.isAlive()).isTrue();
        }
    }

    @Test
    void aSignalDuringTheWaitEndsItWithoutATrace() {
        semaphore.execute("create", "job", "1");
        try (CommandProcess holder = semaphore.run("job", "echo > ready; read unused")) {
            await().until(() -> semaphore.file("ready").equals("\n"));
            try (CommandProcess waiter = semaphore.run("job --verbose", "echo > served")) {
                await().until(() -> waiter.err().contains("asking for 1 of job"));
                waiter.signal("TERM");

                assertThat(waiter.exitCode()).isEqualTo(128 + 15);
            }
            holder.input("\n");
            assertThat(holder.exitCode()).isZero();
        }
        assertThat(semaphore.file("served")).isEmpty();
        assertThat(semaphore.execute("status", "job").out()).isEqualTo("job: limit 1, free 1\n");
    }

    @Test
    void theSlotIsHeldAtLeastSoLongAfterACommandThatIsQuick() {
        long start = System.nanoTime();
        try (CommandProcess run = semaphore.run("job --limit 1 --at-least 3s", "echo > done; exit 7")) {
            await().until(() -> semaphore.file("done").equals("\n"));
            assertThat(semaphore
                            .execute("run", "job", "--wait", "0s", "--", "true")
                            .code())
                    .isEqualTo(75);
            assertThat(run.exitCode()).isEqualTo(7);
        }
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofSeconds(3));
        assertThat(semaphore.execute("status", "job").out()).isEqualTo("job: limit 1, free 1\n");
    }

    @Test
    void aSignalEndsTheTimeThatTheSlotIsHeldOn() {
        // One that comes early goes to the command, which does not mind it.
        String script = "trap '' TERM; echo $SEMAPHORE_RUN > mark; exit 7";
        try (CommandProcess run = semaphore.run("job --limit 1 --at-least 1h", script)) {
            await().until(() -> semaphore.file("mark").endsWith("\n"));
            String mark = semaphore.file("mark").strip();
            await().until(() -> CommandProcess.watchers(mark).isEmpty());
            run.signal("TERM");

            assertThat(run.exitCode()).isEqualTo(7);
        }
        assertThat(semaphore.execute("status", "job").out()).isEqualTo("job: limit 1, free 1\n");
    }

    @Test
    void theSignalThatEndsTheCommandEndsThatTimeAsWell() {
        try (CommandProcess run = semaphore.run("job --limit 1 --at-least 1h", "echo > ready; exec sleep 60")) {
            await().until(() -> semaphore.file("ready").equals("\n"));
            run.signal("TERM");

            assertThat(run.exitCode()).isEqualTo(128 + 15);
        }
        assertThat(semaphore.execute("status", "job").out()).isEqualTo("job: limit 1, free 1\n");
    }

    /** As a service manager ends a service: each of its processes gets the signal. */
    @Test
    void aSignalToAllProcessesOfARunLeavesTheCommandItsTime() {
        String script =
                "trap 'sleep 1; echo got; exit 9' TERM; echo $SEMAPHORE_RUN > mark; while :; do sleep 0.01; done";
        try (CommandProcess run = semaphore.run("job --limit 1", script)) {
            await().until(() -> semaphore.file("mark").endsWith("\n"));
            List<ProcessHandle> watchers =
                    CommandProcess.watchers(semaphore.file("mark").strip());
            assertThat(watchers).isNotEmpty();
            watchers.forEach(watcher -> CommandProcess.send("TERM", watcher.pid()));
            run.signal("TERM");

            assertThat(run.exitCode()).as(run.err()).isEqualTo(9);
            assertThat(run.out()).isEqualTo("got\n");
        }
    }

    @Test
    void theVariableOfTheBackendIsTakenAsItIs() {
        Map<String, String> environment = Map.of("SEMAPHORE_BACKEND", "local:" + folder + "/a$$b${x}");
        try (CommandProcess create = CommandProcess.start(folder, environment, List.of("create", "job", "1"))) {
            assertThat(create.exitCode()).as(create.err()).isZero();
        }
        assertThat(folder.resolve("a$$b${x}")).isDirectory();
    }

    @Test
    void anArgumentThatTheJvmCouldNotReadIsRefused() {
        LocalCommands.Outcome outcome =
                semaphore.execute("run", "job", "--limit", "1", "--", "touch", folder + "/caf\uFFFD");

        assertThat(outcome.code()).isEqualTo(64);
        assertThat(outcome.err()).contains("caf\uFFFD").contains("no text in this locale");
        assertThat(semaphore.execute("status", "job").code()).isEqualTo(5);
    }

    /** Else two names would be one semaphore. */
    @Test
    void aNameOrALabelThatTheJvmCouldNotReadIsRefusedByEachCommand() {
        for (String words : List.of(
                "create caf\uFFFD 1",
                "status caf\uFFFD",
                "run caf\uFFFD --limit 1 -- true",
                "run job --limit 1 --label caf\uFFFD -- true")) {
            LocalCommands.Outcome outcome = semaphore.execute(words.split(" "));

            assertThat(outcome.code()).as(words).isEqualTo(64);
            assertThat(outcome.err()).contains("caf\uFFFD' has bytes that are no text in this locale");
        }
        assertThat(semaphore.execute("list").out()).startsWith("no semaphores");
    }

    @Test
    void aUriThatTheJvmCouldNotReadIsRefusedAndNotShown() {
        LocalCommands.Outcome outcome =
                LocalCommands.executeOn("redis://:secret\uFFFD@127.0.0.1:1", "create", "job", "1");

        assertThat(outcome.code()).isEqualTo(64);
        assertThat(outcome.err())
                .contains("URI", "no text in this locale")
                .doesNotContain("secret")
                .hasLineCount(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/dev/fd/63", "--file=/dev/fd/3", "if=/proc/self/fd/10", "@/dev/fd/63", "-f/dev/fd/63"})
    void aDescriptorThatTheCommandDoesNotGetIsRefused(String word) {
        LocalCommands.Outcome outcome = semaphore.execute("run", "job", "--limit", "1", "--", "true", word);

        assertThat(outcome.code()).isEqualTo(64);
        assertThat(outcome.err()).contains("'" + word + "'", "standard input");
        assertThat(semaphore.execute("status", "job").code()).isEqualTo(5);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/dev/fd/2", "--file=/dev/fd/0", "/dev/fd/", "/dev/fd/3x", "cat </dev/fd/3", "/a/dev/fd/3"})
    void whatOnlyLooksLikeOneIsPassedOn(String word) {
        assertThat(semaphore
                        .execute("run", "job", "--limit", "1", "--", "true", word)
                        .code())
                .isZero();
    }

    @Test
    void ofACommandWithALongNameTheLabelIsTheBeginning() throws IOException {
        Path shell = Files.createSymbolicLink(folder.resolve("\t" + "x".repeat(200)), Path.of("/bin/sh"));
        List<String> words = List.of(
                "--backend", semaphore.backend(), "run", "job", "--limit", "1", "--", "" + shell, "-c", "read unused");
        try (CommandProcess run = CommandProcess.start(folder, words)) {
            await().until(() ->
                    !run.isAlive() || semaphore.execute("status", "job").out().contains("xx"));
            assertThat(run.isAlive()).as(run.err()).isTrue();
            assertThat(semaphore.execute("status", "job").out())
                    .contains("?" + "x".repeat(199))
                    .doesNotContain("x".repeat(200));
            run.input("\n");

            assertThat(run.exitCode()).isZero();
        }
    }

    @Test
    void aCommandThatIsNotFoundCostsNoSlot() {
        LocalCommands.Outcome outcome = semaphore.execute("run", "job", "--limit", "1", "--", "no-such-command-at-all");

        assertThat(outcome.code()).isEqualTo(127);
        assertThat(outcome.err()).isEqualTo("semaphore: no-such-command-at-all: command not found\n");
        assertThat(semaphore.execute("status", "job").out()).isEqualTo("job: limit 1, free 1\n");
    }

    @Test
    void whatFollowsTheDashesIsTheCommandsWhateverItLooksLike() {
        LocalCommands.Outcome outcome = semaphore.execute(
                "run",
                "job",
                "--limit",
                "1",
                "--",
                "sh",
                "-c",
                "test \"$*\" = '--wait @x --help -- ${x}'",
                "sh",
                "--wait",
                "@x",
                "--help",
                "--",
                "${x}");

        assertThat(outcome).isEqualTo(new LocalCommands.Outcome(0, "", ""));
    }

    @Test
    void aHolderKilledByForceLeavesItsSlotToTheNext() {
        semaphore.execute("create", "job", "1");
        try (CommandProcess holder = semaphore.run("job", "echo > ready; exec sleep 60");
                CommandProcess waiter = semaphore.run("job --wait 20s", "echo > served")) {
            await().until(() -> semaphore.file("ready").equals("\n")
                    || semaphore.file("served").equals("\n"));
            holder.signal("KILL");

            assertThat(waiter.exitCode()).isZero();
            assertThat(semaphore.file("served")).isEqualTo("\n");
        }
    }

    @Test
    void theNextHoldersCommandWaitsUntilThatOfAKilledRunIsGone() {
        semaphore.execute("create", "job", "1");
        try (CommandProcess killed = semaphore.run("job", "echo $SEMAPHORE_RUN > mark; echo $$ > pid; exec sleep 60")) {
            await().until(() -> semaphore.file("pid").endsWith("\n"));
            List<ProcessHandle> watchers =
                    CommandProcess.watchers(semaphore.file("mark").strip());
            // Stopped they are slow beyond measure: whoever does not wait for them comes too early.
            watchers.forEach(watcher -> CommandProcess.send("STOP", watcher.pid()));
            killed.signal("KILL");
            // A zombie is gone, whenever init will see to it.
            String look =
                    "p=/proc/$(cat pid); if grep -qs '^State:.[ZX]' $p/status || test ! -e $p; then echo alone; fi";
            try (CommandProcess next = semaphore.run("job", look)) {
                try {
                    awaitHolder(next);
                    // It has the slot; a while shows that it does not start.
                    await().during(Duration.ofMillis(700)).until(next::isAlive);
                } finally {
                    watchers.forEach(watcher -> CommandProcess.send("CONT", watcher.pid()));
                }
                assertThat(next.exitCode()).isZero();
                assertThat(next.out()).isEqualTo("alone\n");
            }
        }
    }

    private void awaitHolder(CommandProcess run) {
        await().until(() -> semaphore.execute("status", "job").out().contains("  " + run.pid() + "  "));
    }

    @Test
    void noMoreThanTheLimitRunAtOnceHoweverManyAreStarted() {
        semaphore.execute("create", "job", "2");
        // The folders are the proof: mkdir of one that is there fails, and each slot has its own.
        String script =
                "mkdir slot-$SEMAPHORE_SLOT && sleep 0.05 && rmdir slot-$SEMAPHORE_SLOT && echo $SEMAPHORE_SLOT";
        List<CommandProcess> runs = new ArrayList<>();
        try {
            for (int i = 0; i < 6; i++) {
                runs.add(semaphore.run("job", script));
            }
            assertThat(runs).allSatisfy(run -> {
                assertThat(run.exitCode()).isZero();
                assertThat(run.out().strip()).isIn("1", "2");
            });
        } finally {
            runs.forEach(CommandProcess::close);
        }
    }
}
