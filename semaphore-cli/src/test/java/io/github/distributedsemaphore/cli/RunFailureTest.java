package io.github.distributedsemaphore.cli;

import static io.github.distributedsemaphore.cli.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What {@code semaphore} does when the backend fails, or the process itself is killed. */
final class RunFailureTest {
    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource({"unavailable, 69", "access, 77", "incompatible, 78", "unknown, 74", "bug, 1"})
    void everyFailureOfTheBackendIsALineAndACodeOfItsOwn(String failure, int code) {
        LocalCommands.Outcome outcome =
                LocalCommands.executeOn("scripted:?fail=" + failure, "run", "job", "--", "true");

        assertThat(outcome.code()).isEqualTo(code);
        assertThat(outcome.err()).startsWith("semaphore: ").hasLineCount(1).doesNotContain("\tat ");
    }

    @Test
    void withoutAFolderForItsLocksItTakesNoSlot() {
        LocalCommands semaphore = new LocalCommands(folder);
        Path missing = folder.resolve("missing");
        try (CommandProcess command = CommandProcess.start(
                folder,
                Map.of("JAVA_TOOL_OPTIONS", "-Djava.io.tmpdir=" + missing),
                List.of("--backend", semaphore.backend(), "run", "job", "--limit", "1", "--", "true"))) {
            assertThat(command.exitCode()).isEqualTo(77);
            assertThat(command.err()).contains("semaphore: " + missing, "cannot hold locks");
        }
        // So it has not even begun.
        assertThat(semaphore.execute("status", "job").code()).isEqualTo(5);
    }

    @ParameterizedTest
    @CsvSource({"30s, 0", "0s, 69"})
    void toCreateTheSemaphoreIsTriedAgainForAsLongAsTheWait(String wait, int code) {
        LocalCommands.Outcome outcome =
                LocalCommands.executeOn("scripted:?away=2", "run", "job", "--limit", "1", "--wait", wait, "--", "true");

        assertThat(outcome.code()).as(outcome.err()).isEqualTo(code);
    }

    @Test
    void aStackTraceIsForThoseWhoAsk() {
        try (CommandProcess command =
                start("--verbose", "--backend", "scripted:?fail=unavailable", "run", "job", "--", "true")) {
            assertThat(command.exitCode()).isEqualTo(69);
            assertThat(command.err()).contains("\tat ", "BackendUnavailableException");
        }
    }

    @Test
    void aBackendThatCannotListSaysSo() {
        LocalCommands.Outcome outcome = LocalCommands.executeOn("scripted:", "status");

        assertThat(outcome.code()).isEqualTo(64);
        assertThat(outcome.err()).contains("cannot list").hasLineCount(1);
    }

    @Test
    void aLostPermitEndsTheCommandAndWhatItStarted() throws IOException {
        String script = "trap 'echo ended > ended; exit 3' TERM; sleep 60 & echo $! > pid; wait";
        try (CommandProcess command = startLosing(script)) {
            long grandchild = pidFrom("pid");
            Files.createFile(folder.resolve("lose"));

            assertThat(command.exitCode()).isEqualTo(70);
            assertThat(command.err()).contains("job: the permit was lost").hasLineCount(1);
            assertThat(folder.resolve("ended")).exists();
            awaitDeath(grandchild);
        }
    }

    @Test
    void theSecondSignalAfterALostPermitEndsTheProcessThoughItsClientDoesNot() {
        Path lose = folder.resolve("lose");
        Path closing = folder.resolve("closing");
        String backend = "scripted:?loseOn=" + lose + "&closing=" + closing;
        String script = ": >'" + lose + "'; exec sleep 60";
        try (CommandProcess command = start("--backend", backend, "run", "job", "--", "sh", "-c", script)) {
            await().until(() -> Files.exists(closing));
            command.signal("TERM");
            // Two that come together are one for the system.
            await().pollDelay(Duration.ofSeconds(1)).until(command::isAlive);
            command.signal("TERM");

            await().atMost(Duration.ofSeconds(20)).until(() -> !command.isAlive());
            assertThat(command.exitCode()).isEqualTo(128 + 15);
        }
    }

    @Test
    void aLostPermitEndsWhatTheCommandHasLeftBehind() throws IOException {
        // Its parent is gone: no line of descent leads to it, only the mark in its environment. It sleeps for longer
        // than
        // the test waits.
        try (CommandProcess command = startLosing("(sleep 300 & echo $! > orphan); exec sleep 60")) {
            long orphan = pidFrom("orphan");
            Files.createFile(folder.resolve("lose"));

            assertThat(command.exitCode()).isEqualTo(70);
            awaitDeath(orphan);
        }
    }

    @Test
    void aLostPermitEndsWhatIsStartedDuringTheGracePeriod() throws IOException {
        // The command dies of the signal at once, and its child starts something in answer to it.
        String supervisor =
                "trap 'sleep 300 & echo $! > worker; exit' TERM; echo > ready; while :; do sleep 0.01; done";
        try (CommandProcess command = startLosing("sh -c \"" + supervisor.replace("$", "\\$") + "\"; true")) {
            await().until(() -> CommandProcess.read(folder.resolve("ready")).endsWith("\n"));
            Files.createFile(folder.resolve("lose"));

            assertThat(command.exitCode()).isEqualTo(70);
            awaitDeath(pidFrom("worker"));
        }
    }

    @Test
    void killedByForceItTakesTheCommandAndItsChildrenAlong() {
        String script = "sh -c 'sleep 60 & echo $! > grandchild; wait' & echo $$ > child; wait";
        try (CommandProcess command = startLosing(script)) {
            long child = pidFrom("child");
            long grandchild = pidFrom("grandchild");
            command.signal("KILL");

            assertThat(command.exitCode()).isEqualTo(128 + 9);
            awaitDeath(child);
            awaitDeath(grandchild);
        }
    }

    @Test
    void killedByForceItTakesAlongWhatTheCommandHasLeftBehind() {
        // Its parent is gone: no line of descent leads to it, only the mark in its environment.
        try (CommandProcess command = startLosing("(sleep 60 & echo $! > orphan); exec sleep 60")) {
            long orphan = pidFrom("orphan");
            command.signal("KILL");

            assertThat(command.exitCode()).isEqualTo(128 + 9);
            awaitDeath(orphan);
        }
    }

    @Test
    void killedByForceItTakesAlongAChildThatHasClearedItsEnvironment() {
        // It bears no mark: only the line of descent leads to it.
        try (CommandProcess command = startLosing("env -i sh -c 'echo $$ > child; exec sleep 60' & wait")) {
            long child = pidFrom("child");
            command.signal("KILL");

            assertThat(command.exitCode()).isEqualTo(128 + 9);
            awaitDeath(child);
        }
    }

    @Test
    void killedByForceItTakesAlongARunInsideTheRun() {
        try (CommandProcess command = startLosing(runInside("echo $$ > inner; exec sleep 60"))) {
            long innermost = pidFrom("inner");
            command.signal("KILL");

            awaitDeath(innermost);
        }
    }

    private static String runInside(String script) {
        return String.join(
                " ",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp '" + System.getProperty("java.class.path") + "'",
                Main.class.getName(),
                "--backend scripted: run inner -- sh -c '" + script + "'");
    }

    /** It sleeps for longer than the test waits. */
    private static final String LEAVES_AN_ORPHAN = "(sleep 300 & echo $! > orphan); exec sleep 60";

    @Test
    void killedByForceItTakesAlongWhatARunInsideTheRunHasLeftBehind() {
        try (CommandProcess command = startLosing(runInside(LEAVES_AN_ORPHAN))) {
            long orphan = pidFrom("orphan");
            command.signal("KILL");

            awaitDeath(orphan);
        }
    }

    @Test
    void aLostPermitEndsWhatARunInsideTheRunHasLeftBehind() throws IOException {
        try (CommandProcess command = startLosing(runInside(LEAVES_AN_ORPHAN))) {
            long orphan = pidFrom("orphan");
            Files.createFile(folder.resolve("lose"));

            assertThat(command.exitCode()).isEqualTo(70);
            awaitDeath(orphan);
        }
    }

    @Test
    void aRunInsideTheRunTakesAlongNothingOfTheOuterOne() throws IOException {
        String inner =
                runInside("echo \"${SEMAPHORE_RUN##* }\" > mark; echo $$ > inner; kill -s KILL $PPID; exec sleep 60");
        try (CommandProcess command = startLosing("sleep 300 & echo $! > sibling\n" + inner + "\nwait")) {
            long sibling = pidFrom("sibling");
            awaitDeath(pidFrom("inner"));
            String mark = CommandProcess.read(folder.resolve("mark")).strip();
            await().until(() -> CommandProcess.watchers(mark).isEmpty());

            assertThat(Files.readString(Path.of("/proc/" + sibling + "/stat"))).doesNotContain(") Z ");
            command.signal("KILL");
            awaitDeath(sibling);
        }
    }

    @Test
    void theWatchingShellEndsWithTheCommand() {
        try (CommandProcess command = startLosing("echo $SEMAPHORE_RUN > mark; read unused")) {
            await().until(() -> CommandProcess.read(folder.resolve("mark")).endsWith("\n"));
            String mark = CommandProcess.read(folder.resolve("mark")).strip();
            assertThat(CommandProcess.watchers(mark)).isNotEmpty();
            command.input("\n");

            assertThat(command.exitCode()).isZero();
            assertThat(CommandProcess.watchers(mark)).isEmpty();
        }
    }

    @Test
    void withoutTheWatchingShellTheCommandCanStillBeEnded() {
        String script = "trap 'exit 7' TERM; echo $SEMAPHORE_RUN > mark; while :; do sleep 0.01; done";
        try (CommandProcess command = startLosing(script)) {
            await().until(() -> CommandProcess.read(folder.resolve("mark")).endsWith("\n"));
            String mark = CommandProcess.read(folder.resolve("mark")).strip();
            CommandProcess.watchers(mark).forEach(ProcessHandle::destroyForcibly);
            await().until(() -> CommandProcess.watchers(mark).isEmpty());
            command.signal("INT");

            assertThat(command.exitCode()).isEqualTo(7);
        }
    }

    private CommandProcess start(String... words) {
        return CommandProcess.start(folder, List.of(words));
    }

    private CommandProcess startLosing(String script) {
        String backend = "scripted:?loseOn=" + folder.resolve("lose");
        return start("--backend", backend, "run", "job", "--", "sh", "-c", "cd '" + folder + "'\n" + script);
    }

    private long pidFrom(String file) {
        await().until(() -> CommandProcess.read(folder.resolve(file)).endsWith("\n"));
        return Long.parseLong(CommandProcess.read(folder.resolve(file)).strip());
    }

    private static void awaitDeath(long pid) {
        await().until(() -> ProcessHandle.of(pid).filter(ProcessHandle::isAlive).isEmpty());
    }
}
