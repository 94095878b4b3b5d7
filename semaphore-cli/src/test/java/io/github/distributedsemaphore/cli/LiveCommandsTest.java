package io.github.distributedsemaphore.cli;

import static io.github.distributedsemaphore.cli.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import io.github.distributedsemaphore.cli.common.Terminal;
import io.github.distributedsemaphore.cli.live.RedisProcess;
import io.github.distributedsemaphore.cli.run.RunCommand;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
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

/** {@code list}, {@code top} and {@code ui} as they are called. */
final class LiveCommandsTest {
    private static final String OWN_SCREEN = "\u001b[?1049h\u001b[?25l";
    private static final String SCREEN_BACK = "\u001b[?25h\u001b[?1049l";

    /** After a kill the guard needs a moment, which is why it looks more than once. */
    private static final String SESSION = """
            trap : INT
            stty rows 20 cols 90
            stty -g >before
            sh -c 'echo $$ >pid; exec "$@"' - "$@"
            echo $? >code
            for i in $(seq 150); do
                stty -g >after
                cmp -s before after && break
                sleep 0.2
            done
            echo over >over
            """;

    @TempDir
    private Path folder;

    private LocalCommands semaphore;

    @BeforeEach
    void useOwnFolder() {
        semaphore = new LocalCommands(folder);
    }

    @Test
    void listShowsHowFullTheyAre() {
        assertThat(semaphore.execute("list").out()).startsWith("no semaphores");
        assertThat(semaphore.execute("list", "--json").out()).isEqualTo("[]\n");
        semaphore.execute("create", "imports", "1");
        try (CommandProcess holder = semaphore.run("exports --limit 3", "echo > ready; read unused")) {
            await().until(() -> semaphore.file("ready").equals("\n"));
            assertThat(holder.isAlive()).isTrue();

            assertThat(semaphore.execute("list").out().lines())
                    .containsExactly(
                            "NAME     LIMIT  HELD  FREE", "exports  3      1     2", "imports  1      0     1");
            assertThat(semaphore.execute("list", "--json").out())
                    .isEqualTo("[{\"name\":\"exports\",\"limit\":3,\"held\":1,\"free\":2},"
                            + "{\"name\":\"imports\",\"limit\":1,\"held\":0,\"free\":1}]\n");
        }
    }

    @Test
    void aNameDoesNotCommandTheTerminalAndIsExactInJson() {
        semaphore.execute("create", "a\u001b]0;x\u0007", "1");

        assertThat(semaphore.execute("list").out()).endsWith("a?]0;x?  1      0     1\n");
        assertThat(semaphore.execute("status").out()).isEqualTo("a?]0;x?: limit 1, free 1\n");
        assertThat(semaphore.execute("top", "--once").out()).contains("a?]0;x?  1 ");
        String json = semaphore.execute("list", "--json").out();
        assertThat(JsonParser.parseString(json)
                        .getAsJsonArray()
                        .get(0)
                        .getAsJsonObject()
                        .get("name")
                        .getAsString())
                .isEqualTo("a\u001b]0;x\u0007");
    }

    @Test
    void aBackendThatListsNothingIsToldByName() {
        for (String command : List.of("list", "top", "ui")) {
            LocalCommands.Outcome outcome = LocalCommands.executeOn("scripted:", command);
            assertThat(outcome.code()).isEqualTo(ExitCodes.USAGE);
            assertThat(outcome.err()).contains("scripted", "cannot list").hasLineCount(1);
        }
    }

    @Test
    void topOncePrintsATableOrJson() {
        semaphore.execute("create", "exports", "3");

        assertThat(semaphore.execute("top", "--once").out().lines())
                .containsExactly(
                        "NAME     LIMIT  HELD  FREE  RETIRED  EXPIRED  OLDEST",
                        "exports  3      0     3     0        0        -");
        JsonObject json = JsonParser.parseString(
                        semaphore.execute("top", "exports", "--once", "--json").out())
                .getAsJsonObject();
        assertThat(json.get("backend").getAsString()).isEqualTo("local");
        JsonArray all = json.getAsJsonArray("semaphores");
        assertThat(all).hasSize(1);
        assertThat(all.get(0).getAsJsonObject().get("held").getAsInt()).isZero();
    }

    @Test
    void topOnceOfWhatIsNotThereOrOutOfReachEndsAsStatusDoes() {
        semaphore.execute("create", "exports", "3");

        LocalCommands.Outcome outcome = semaphore.execute("top", "exports", "none", "--once", "--json");
        assertThat(outcome.code()).isEqualTo(ExitCodes.NO_SUCH_SEMAPHORE);
        assertThat(outcome.out()).contains("exports");
        assertThat(outcome.err()).contains("none").hasLineCount(1);
        assertThat(LocalCommands.executeOn("redis://127.0.0.1:1", "top", "--once")
                        .code())
                .isEqualTo(ExitCodes.UNAVAILABLE);
    }

    @Test
    void topOnceOfADamagedSemaphoreEndsAsStatusDoesAndShowsTheOthers() {
        semaphore.execute("create", "exports", "3");
        semaphore.execute("create", "imports", "1");
        semaphore.damage("exports");

        assertThat(semaphore.execute("status", "exports").code()).isEqualTo(ExitCodes.INCOMPATIBLE_STATE);
        LocalCommands.Outcome outcome = semaphore.execute("top", "--once");
        assertThat(outcome.code()).isEqualTo(ExitCodes.INCOMPATIBLE_STATE);
        assertThat(outcome.err()).contains("exports", "something else").hasLineCount(1);
        assertThat(outcome.out().lines())
                .containsExactly(
                        "NAME     LIMIT  HELD  FREE  RETIRED  EXPIRED  OLDEST",
                        "exports  -      -     -     -        -        -",
                        "imports  1      0     1     0        0        -");
        assertThat(semaphore.execute("top", "--once", "--json").code()).isEqualTo(ExitCodes.INCOMPATIBLE_STATE);
    }

    @Test
    void aDamagedSemaphoreHidesNoOther() {
        semaphore.execute("create", "exports", "3");
        semaphore.execute("create", "imports", "1");
        semaphore.damage("exports");

        LocalCommands.Outcome list = semaphore.execute("list");
        assertThat(list.code()).isEqualTo(ExitCodes.INCOMPATIBLE_STATE);
        assertThat(list.out().lines()).containsExactly("NAME     LIMIT  HELD  FREE", "imports  1      0     1");
        assertThat(list.err()).contains("exports", "something else").hasLineCount(1);
        LocalCommands.Outcome status = semaphore.execute("status");
        assertThat(status.code()).isEqualTo(ExitCodes.INCOMPATIBLE_STATE);
        assertThat(status.out()).isEqualTo("imports: limit 1, free 1\n");
        assertThat(status.err()).contains("exports", "something else").hasLineCount(1);

        semaphore.damage("imports");
        for (String command : List.of("list", "status")) {
            LocalCommands.Outcome none = semaphore.execute(command);
            assertThat(none.code()).isEqualTo(ExitCodes.INCOMPATIBLE_STATE);
            assertThat(none.out()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"list", "status", "guarantees", "--help", "top --once"})
    void whatCannotBeWrittenIsAnError(String words) throws IOException, InterruptedException {
        Process process = startOnAFullDisk(words);
        String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(process.waitFor()).isEqualTo(ExitCodes.UNEXPECTED);
        assertThat(err).startsWith("semaphore: ").contains("standard output").hasLineCount(1);
    }

    private Process startOnAFullDisk(String words) throws IOException {
        List<String> all = new ArrayList<>(List.of("--backend", semaphore.backend()));
        all.addAll(List.of(words.split(" ")));
        List<String> command = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" >/dev/full", "-"));
        command.addAll(CommandProcess.command(all));
        return new ProcessBuilder(command).start();
    }

    @Test
    void topEndsWhenNobodyReadsItAnyMore() throws IOException {
        semaphore.execute("create", "exports", "3");
        Process top = startOnAFullDisk("top");
        try {
            await().until(() -> !top.isAlive());
            assertThat(top.exitValue()).isZero();
        } finally {
            top.destroyForcibly().onExit().join();
        }
    }

    @Test
    void withoutATerminalTopPrintsALinePerChange() {
        try (RedisProcess redis = new RedisProcess(folder)) {
            LocalCommands.executeOn(redis.uri(), "create", "exports", "3");
            try (CommandProcess top = start(redis.uri(), "top")) {
                await().until(() -> top.out().endsWith("  exports  0/3\n"));
                LocalCommands.executeOn(redis.uri(), "run", "exports", "--label", "nightly", "--", "sleep", "2");
                await().until(() -> top.out().contains("freed"));
                top.signal("TERM");
                assertThat(top.exitCode()).isEqualTo(143);
                assertThat(top.err()).isEmpty();
                assertThat(top.out().lines().map(line -> line.replaceAll("^\\S+Z  |pid \\d+|slot \\d, [^ ]+ ", "")))
                        .containsExactly(
                                "exports  0/3", "exports  1/3  + taken , nightly", "exports  0/3  - freed , nightly");
            }
        }
    }

    @Test
    void uiPrintsWhereItIsAndEndsWithASignal() {
        try (CommandProcess ui = start(semaphore.backend(), "ui")) {
            await().until(() -> ui.out().matches("http://127\\.0\\.0\\.1:\\d+/ shows .*Ctrl-C ends it\\R"));
            ui.signal("INT");
            assertThat(ui.exitCode()).isEqualTo(130);
            assertThat(ui.err()).isEmpty();
        }
    }

    @Test
    void runLoadsNothingThatOnlyTheViewsNeed() {
        Path loaded = folder.resolve("loaded");
        try (CommandProcess run = CommandProcess.start(
                folder,
                Map.of("JAVA_TOOL_OPTIONS", "-Xlog:class+load:file=" + loaded),
                List.of("--backend", semaphore.backend(), "run", "job", "--limit", "1", "--", "true"))) {
            assertThat(run.exitCode()).isZero();
        }
        assertThat(semaphore.file("loaded"))
                .contains(RunCommand.class.getName())
                .doesNotContain("httpserver", "com.google.gson", "live.Readings", "live.RawTerminal", "live.UiServer");
    }

    private CommandProcess start(String backend, String... words) {
        List<String> all = new ArrayList<>(List.of(words));
        all.addAll(List.of("--backend", backend));
        return CommandProcess.start(folder, Map.of("LC_ALL", "C"), all);
    }

    /** In a terminal that util-linux's script makes; its settings before and after must be the same. */
    @ParameterizedTest
    @CsvSource({"q, 0", "CONTROL-C, 130", "INT, 130", "TERM, 143", "HUP, 129", "KILL, 137", "STOPPED, 143"})
    void theTerminalIsRestoredHoweverTopEnds(String way, int code) throws IOException {
        semaphore.execute("create", "exports", "3");
        Process terminal = terminal(Map.of());
        try {
            // The row, and the key line below it.
            await().until(() -> semaphore.file("screen").contains("exports")
                    && semaphore.file("screen").contains("q quit"));
            assertThat(semaphore.file("screen")).contains(OWN_SCREEN).doesNotContain(SCREEN_BACK);
            switch (way) {
                case "q" -> type(terminal, "q");
                case "CONTROL-C" -> type(terminal, "\u0003");
                case "STOPPED" -> terminateWhileTheTerminalTakesNothing(terminal);
                default ->
                    CommandProcess.send(
                            way, Long.parseLong(semaphore.file("pid").strip()));
            }
            await().until(() -> semaphore.file("over").equals("over\n"));

            assertThat(semaphore.file("code")).isEqualTo(code + "\n");
            assertThat(semaphore.file("after")).isEqualTo(semaphore.file("before"));
            await().until(() -> semaphore.file("screen").contains(SCREEN_BACK));
        } finally {
            terminal.descendants().forEach(ProcessHandle::destroyForcibly);
            terminal.destroyForcibly().onExit().join();
        }
    }

    private void terminateWhileTheTerminalTakesNothing(Process terminal) throws IOException {
        type(terminal, "\u0013");
        // It draws each second, and has to wait for the terminal by now.
        await().pollDelay(Duration.ofSeconds(3)).until(terminal::isAlive);
        CommandProcess.send("TERM", Long.parseLong(semaphore.file("pid").strip()));
        await().atMost(Duration.ofSeconds(20))
                .until(() -> semaphore.file("code").endsWith("\n"));
        type(terminal, "\u0011");
    }

    /** As with all programs, the name of the locale counts, also on a machine that does not have the locale. */
    @ParameterizedTest
    @CsvSource({"=C, C, j k select", "none, C, j k select", "none, en_US.UTF-8, \u2191\u2193 select"})
    void theTerminalGetsWhatTheUsersLocaleHas(String usersLcAll, String lang, String keys) throws IOException {
        // As bin/semaphore calls it, for the sake of the names that a command line has.
        Process terminal =
                terminal(Map.of("LC_ALL", "C.UTF-8", Terminal.USERS_LOCALE, usersLcAll, "LC_CTYPE", "", "LANG", lang));
        try {
            await().until(() -> semaphore.file("screen").contains("q quit"));
            assertThat(semaphore.file("screen")).contains(keys);
            type(terminal, "q");
            await().until(() -> semaphore.file("over").equals("over\n"));
        } finally {
            terminal.descendants().forEach(ProcessHandle::destroyForcibly);
            terminal.destroyForcibly().onExit().join();
        }
    }

    private static void type(Process terminal, String keys) throws IOException {
        terminal.getOutputStream().write(keys.getBytes(StandardCharsets.UTF_8));
        terminal.getOutputStream().flush();
    }

    private Process terminal(Map<String, String> environment) throws IOException {
        Files.writeString(folder.resolve("session"), SESSION);
        List<String> top = CommandProcess.command(List.of("top", "--backend", semaphore.backend()));
        List<String> words = new ArrayList<>(CommandProcess.WITH_SIGNALS);
        words.addAll(List.of("script", "-qfc", "sh session '" + String.join("' '", top) + "'", "/dev/null"));
        ProcessBuilder builder = new ProcessBuilder(words)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("screen").toFile());
        builder.environment().put("TERM", "xterm-256color");
        builder.environment().put("SHELL", "/bin/sh");
        builder.environment().putAll(environment);
        return builder.start();
    }
}
