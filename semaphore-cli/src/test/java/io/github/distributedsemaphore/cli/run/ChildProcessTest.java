package io.github.distributedsemaphore.cli.run;

import static io.github.distributedsemaphore.cli.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.cli.CommandProcess;
import io.github.distributedsemaphore.cli.common.CommandFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ChildProcessTest {
    @TempDir
    private Path folder;

    private ChildProcess shell(String script) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(CommandProcess.WITH_SIGNALS);
        command.addAll(List.of("sh", "-c", "cd '" + folder + "'\n" + script));
        return ChildProcess.prepare(command, Map.of("TEXT", "a b"), List.of());
    }

    private void awaitFile(String name) {
        await().until(() -> CommandProcess.read(folder.resolve(name)).endsWith("\n"));
    }

    @Test
    void theCommandHasItsEnvironmentAndItsExitCodeIsTold() throws IOException, InterruptedException {
        try (ChildProcess child = shell("echo \"$TEXT\" > text; exit 7")) {
            child.start();

            assertThat(child.exited().join()).isEqualTo(7);
            assertThat(folder.resolve("text")).hasContent("a b\n");
        }
    }

    @Test
    void aSignalReachesTheCommand() throws IOException, InterruptedException {
        try (ChildProcess child = shell("trap 'exit 9' HUP; echo > ready; while :; do sleep 0.01; done")) {
            child.start();
            awaitFile("ready");
            child.signal("HUP");

            assertThat(child.exited().join()).isEqualTo(9);
        }
    }

    /** Of the terminal's group, the command was not yet part of it when the terminal sent it. */
    @Test
    void anInterruptThatComesBeforeTheCommandIsThereReachesItInTheForegroundToo()
            throws IOException, InterruptedException {
        try (SignalRelay signals = new SignalRelay(Thread.currentThread(), () -> true);
                ChildProcess child = shell("trap 'exit 9' INT; echo > ready; while :; do sleep 0.01; done")) {
            Thread early = new Thread(() -> signals.received("INT"));
            signals.lock.lock();
            try {
                early.start();
                await().until(() -> signals.lock.hasQueuedThread(early));
                assertThat(signals.startAndRelayTo(child)).isTrue();
                awaitFile("ready");
            } finally {
                signals.lock.unlock();
            }
            early.join();

            assertThat(child.exited()).succeedsWithin(Duration.ofSeconds(30)).isEqualTo(9);
        }
    }

    @Test
    void aSignalToACommandThatHasEndedDoesNothing() throws IOException, InterruptedException {
        try (ChildProcess child = shell("true")) {
            child.start();
            assertThat(child.exited().join()).isZero();

            child.signal("TERM");
        }
    }

    @Test
    void whoeverIgnoresTheRequestToEndIsKilledAfterTheGracePeriod() throws IOException, InterruptedException {
        try (ChildProcess child =
                shell("trap '' TERM; sh -c 'echo $$ > grandchild; while :; do sleep 1; done' & wait")) {
            child.start();
            awaitFile("grandchild");
            long grandchild = Long.parseLong(
                    CommandProcess.read(folder.resolve("grandchild")).strip());
            long before = System.nanoTime();
            child.terminate(Duration.ofMillis(300));

            assertThat(Duration.ofNanos(System.nanoTime() - before)).isGreaterThan(Duration.ofMillis(299));
            assertThat(child.exited().join()).isEqualTo(128 + 9);
            await().until(() -> ProcessHandle.of(grandchild).isEmpty());
        }
    }

    @Test
    void aMissingCommandHasTheShellsCode() throws IOException, InterruptedException {
        try (ChildProcess child = ChildProcess.prepare(List.of("no-such-command-at-all"), Map.of(), List.of())) {
            assertThatThrownBy(child::start)
                    .isInstanceOf(CommandFailure.class)
                    .hasMessage("no-such-command-at-all: command not found")
                    .extracting("exitCode")
                    .isEqualTo(127);
        }
    }

    @Test
    void aFileThatIsNoProgramHasTheShellsCode() throws IOException, InterruptedException {
        Path file = Files.createFile(folder.resolve("data"));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        try (ChildProcess child = ChildProcess.prepare(List.of(file.toString()), Map.of(), List.of())) {
            assertThatThrownBy(child::start)
                    .isInstanceOf(CommandFailure.class)
                    .hasMessageContaining("cannot be executed")
                    .extracting("exitCode")
                    .isEqualTo(126);
        }
    }
}
