package io.github.distributedsemaphore.cli.run;

import static io.github.distributedsemaphore.cli.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.cli.CommandProcess;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import io.github.distributedsemaphore.cli.run.WaitLineTest.StoppedTerminal;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class GuardedRunTest {
    @TempDir
    private Path folder;

    @Test
    void aPermitThatIsLostBeforeTheStartStartsNothing() throws IOException, InterruptedException {
        Path lose = folder.resolve("lose");
        Path started = folder.resolve("started");
        StringWriter err = new StringWriter();
        try (SignalRelay signals = new SignalRelay(Thread.currentThread());
                SemaphoreClient client = SemaphoreClient.connect("scripted:?loseOn=" + lose);
                PermitGroup held = client.semaphore("job").acquire(1)) {
            GuardedRun run = new GuardedRun("job", held, List.of(), signals, new PrintWriter(err, true), Duration.ZERO);
            Files.createFile(lose);
            await().until(() -> !held.permits().get(0).isValid());

            assertThat(run.run(List.of("touch", started.toString()))).isEqualTo(ExitCodes.PERMIT_LOST);
        }
        assertThat(started).doesNotExist();
        assertThat(err.toString()).contains("job: the permit was lost").hasLineCount(1);
    }

    @Test
    void theCommandEndsAfterALossThoughStandardErrorTakesNothing() throws InterruptedException {
        String script = "cd '" + folder + "'; echo $$ >pid; : >lose; exec sleep 300";
        StoppedTerminal stopped = new StoppedTerminal();
        try (SemaphoreClient client = SemaphoreClient.connect("scripted:?loseOn=" + folder.resolve("lose"));
                PermitGroup held = client.semaphore("job").acquire(1)) {
            CompletableFuture<Integer> code = start(held, List.of(), stopped, "sh", "-c", script);
            try {
                stopped.awaitWrite();
                long pid = Long.parseLong(
                        CommandProcess.read(folder.resolve("pid")).strip());
                await().until(() ->
                        ProcessHandle.of(pid).filter(ProcessHandle::isAlive).isEmpty());
            } finally {
                stopped.goOn();
            }
            assertThat(code.join()).isEqualTo(ExitCodes.PERMIT_LOST);
        }
    }

    private static CompletableFuture<Integer> start(
            PermitGroup held, List<Path> locks, StoppedTerminal err, String... command) {
        return CompletableFuture.supplyAsync(() -> {
            try (SignalRelay signals = new SignalRelay(Thread.currentThread())) {
                return new GuardedRun("job", held, locks, signals, new PrintWriter(err), Duration.ZERO)
                        .run(List.of(command));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                throw new IllegalStateException("nobody interrupts it", e);
            }
        });
    }

    @Test
    void aRunThatStartsNothingLeavesTheLocksThoughStandardErrorTakesNothing() throws IOException, InterruptedException {
        Path lose = Files.createFile(folder.resolve("lose"));
        Path lock = Files.createFile(folder.resolve("lock"));
        StoppedTerminal stopped = new StoppedTerminal();
        try (SemaphoreClient client = SemaphoreClient.connect("scripted:?loseOn=" + lose);
                PermitGroup held = client.semaphore("job").acquire(1)) {
            await().until(() -> !held.permits().get(0).isValid());
            CompletableFuture<Integer> code = start(held, List.of(lock), stopped, "true");
            try {
                stopped.awaitWrite();
                Process taken = new ProcessBuilder("flock", "-w", "30", lock.toString(), "true").start();
                assertThat(taken.onExit().join().exitValue()).isZero();
            } finally {
                stopped.goOn();
            }
            assertThat(code.join()).isEqualTo(ExitCodes.PERMIT_LOST);
        }
    }

    @Test
    void aLossThatIsToldAfterTheEndOfTheCommandIsNotOneOfTheTimeThatIsLeft() throws IOException, InterruptedException {
        StringWriter err = new StringWriter();
        String script = "cd '" + folder + "'; : >lose; until [ -e seen ]; do sleep 0.05; done";
        try (SignalRelay signals = new SignalRelay(Thread.currentThread());
                SemaphoreClient client = SemaphoreClient.connect("scripted:?loseOn=" + folder.resolve("lose"));
                PermitGroup held = client.semaphore("job").acquire(1)) {
            GuardedRun run = new GuardedRun(
                    "job", toldLate(held), List.of(), signals, new PrintWriter(err, true), Duration.ofSeconds(20));

            assertThat(run.run(List.of("sh", "-c", script))).isEqualTo(ExitCodes.PERMIT_LOST);
        }
        assertThat(err.toString()).contains("job: the permit was lost").hasLineCount(1);
    }

    /** A group over which the backend says what it says, and which nobody tells of a loss. */
    private static PermitGroup answering(
            PermitGroup group, Verification whenAsked, Function<@Nullable Object, @Nullable Object> release) {
        return instead(
                PermitGroup.class,
                instead(PermitGroup.class, group, "verify", unused -> whenAsked),
                "release",
                release);
    }

    private LocalRun runAtLeastASecond(
            String script, Verification whenAsked, Function<@Nullable Object, @Nullable Object> release)
            throws IOException, InterruptedException {
        StringWriter err = new StringWriter();
        try (SignalRelay signals = new SignalRelay(Thread.currentThread());
                SemaphoreClient client = SemaphoreClient.connect("scripted:?loseOn=" + folder.resolve("lose"));
                PermitGroup held = client.semaphore("job").acquire(1)) {
            GuardedRun run = new GuardedRun(
                    "job",
                    answering(held, whenAsked, release),
                    List.of(),
                    signals,
                    new PrintWriter(err, true),
                    Duration.ofSeconds(1));
            return new LocalRun(run.run(List.of("sh", "-c", "cd '" + folder + "'; " + script)), err.toString());
        }
    }

    private record LocalRun(int code, String err) {}

    @Test
    void aLossThatTheBackendKnowsOfWhenTheCommandEndsIsOneOfItsTime() throws IOException, InterruptedException {
        // The client hears of it when the command has ended.
        LocalRun run = runAtLeastASecond(
                "(sleep 0.2; : >lose) &", Verification.LOST, unused -> List.of(ReleaseOutcome.WAS_LOST));

        assertThat(run.code()).isEqualTo(ExitCodes.PERMIT_LOST);
        assertThat(run.err()).contains("before the command ended").hasLineCount(1);
    }

    @Test
    void aLossThatTheReleaseTellsIsNoneOfTheTimeForWhichTheBackendSaidThatItWasHeld()
            throws IOException, InterruptedException {
        LocalRun run = runAtLeastASecond("true", Verification.HELD, unused -> List.of(ReleaseOutcome.WAS_LOST));

        assertThat(run.code()).isZero();
        assertThat(run.err()).contains("after the command had ended").hasLineCount(1);
    }

    @Test
    void aLossThatIsKnownIsNotForgottenIfTheReleaseFails() throws IOException, InterruptedException {
        LocalRun run = runAtLeastASecond("true", Verification.LOST, unused -> {
            throw new OutcomeUnknownException("no answer", null);
        });

        assertThat(run.code()).isEqualTo(ExitCodes.PERMIT_LOST);
        assertThat(run.err()).contains("stay taken", "before the command ended");
    }

    @Test
    void aLossThatTheReleaseFindsIsNotForgottenIfTheReleaseOfAnotherPermitFails()
            throws IOException, InterruptedException {
        StringWriter err = new StringWriter();
        try (SignalRelay signals = new SignalRelay(Thread.currentThread());
                SemaphoreClient client = SemaphoreClient.connect("scripted:?loseOn=" + folder.resolve("lose"));
                PermitGroup held = client.semaphore("job").acquire(1)) {
            // A release of the group that fails tells nothing else. A second one of a lost permit does.
            Permit lost = instead(Permit.class, held.permits().get(0), "release", unused -> ReleaseOutcome.WAS_LOST);
            PermitGroup two = instead(PermitGroup.class, held, "permits", unused -> List.of(lost, lost));
            PermitGroup failing = instead(PermitGroup.class, two, "release", unused -> {
                throw new OutcomeUnknownException("no answer", null);
            });
            GuardedRun run =
                    new GuardedRun("job", failing, List.of(), signals, new PrintWriter(err, true), Duration.ZERO);

            assertThat(run.run(List.of("true"))).isEqualTo(ExitCodes.PERMIT_LOST);
        }
        assertThat(err.toString()).contains("stay taken", "before the command ended");
    }

    /** The same permits, whose listeners learn of a loss two seconds after it, when the command has ended. */
    private PermitGroup toldLate(PermitGroup group) {
        List<Permit> permits = group.permits().stream()
                .map(permit -> instead(Permit.class, permit, "onLost", listener -> {
                    permit.onLost(loss -> {
                        tellLate(loss, listener);
                    });
                    return null;
                }))
                .toList();
        return instead(PermitGroup.class, group, "permits", unused -> permits);
    }

    @SuppressWarnings("unchecked") // it is what onLost takes
    private void tellLate(PermitLoss loss, @Nullable Object listener) {
        try {
            Files.createFile(folder.resolve("seen"));
            Thread.sleep(2_000);
            ((Consumer<? super PermitLoss>) Objects.requireNonNull(listener)).accept(loss);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static <T> T instead(
            Class<T> type, T original, String method, Function<@Nullable Object, @Nullable Object> answer) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, called, values) -> {
                    if (called.getName().equals(method)) {
                        return answer.apply(values == null ? null : values[0]);
                    }
                    try {
                        return called.invoke(original, values);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }
}
