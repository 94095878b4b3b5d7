package io.github.distributedsemaphore.cli.run;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClientBuilder;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.cli.common.CommandFailure;
import io.github.distributedsemaphore.cli.common.ErrorLine;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import io.github.distributedsemaphore.cli.common.SemaphoreCommand;
import io.github.distributedsemaphore.cli.common.Terminal;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.Durations;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "run",
        customSynopsis = "semaphore run [--backend URI] NAME [--limit N] [--permits K] [--wait D] [--at-least D]"
                + " [--label TEXT]%n              [--verbose] -- COMMAND [ARG...]",
        description = {
            "Runs a command while holding a slot, and gives the slot back when the command ends.",
            "",
            "The command has this program's standard input, output and error and no other descriptor, and finds in its"
                    + " environment"
                    + " SEMAPHORE_NAME, SEMAPHORE_SLOT and SEMAPHORE_EPOCH (comma-separated for more than one permit;"
                    + " the epoch is empty where the backend has none). SIGTERM, SIGINT and SIGHUP are passed on to"
                    + " it; a Ctrl-C reaches it from the terminal, on Linux only once. A SIGINT that 'kill' sends to this"
                    + " program alone is for that reason not passed on while the program is in the foreground of a"
                    + " terminal; SIGTERM is.",
            "",
            "If the slot is lost, as when a backend with leases cannot be reached for too long, the command and its"
                    + " descendants get SIGTERM. When these have ended, or after 5 seconds, a small shell beside this"
                    + " program kills all that the command started and that is still there.",
            "",
            "If this program is killed with SIGKILL or crashes, that shell kills the command and all"
                    + " it started: their descendants, and on Linux whatever has the mark of this run in its"
                    + " environment, in SEMAPHORE_RUN. Until that is done the next holder's command waits, if it is run by the same user on"
                    + " the same machine with the same --backend, and flock is there. What that cannot do: reach a process"
                    + " of another user, such as one under sudo; without Linux's /proc, reach what the command has left"
                    + " behind as a daemon; or act if that shell is killed as well."
        })
public final class RunCommand implements Callable<Integer> {
    /** A backend that takes longer for an answer does not answer, as far as people at a terminal are concerned. */
    private static final Duration ANSWER = Duration.ofSeconds(1);

    /** An argument that is a descriptor beyond the standard ones, also as the value of an option or behind an {@code @}. */
    private static final Pattern DESCRIPTOR =
            Pattern.compile("(?:-\\w|[^/]*[=@])?/(?:dev|proc/self)/fd/0*(?:[3-9]|[1-9]\\d+)");

    private static final Duration LONGEST_AT_LEAST = Duration.ofDays(1);

    /** For how long {@code --limit} asks a backend that is away. A wait puts up with it for as long by default. */
    private static final Duration AWAY = Duration.ofSeconds(30);

    private static final Duration RETRY = Duration.ofMillis(250);

    /** Names the file by which {@code bin/semaphore} knows that the archive of this JVM's classes has those of a run; may be empty. */
    private static final String RAN = "io.github.distributedsemaphore.cli.ran";

    @ParentCommand
    private SemaphoreCommand semaphore;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Parameters(index = "0", paramLabel = "NAME", description = "the semaphore")
    private String name;

    @Parameters(index = "1..*", arity = "0..*", paramLabel = "COMMAND", description = "the command and its arguments")
    private List<String> command = List.of();

    @Option(
            names = "--limit",
            paramLabel = "N",
            description = "create the semaphore with this limit if there is none; end with 3 if it has another limit")
    private @Nullable Integer limit;

    @Option(names = "--permits", paramLabel = "K", description = "take so many permits, all or none; default: 1")
    private int permits = 1;

    @Option(
            names = "--wait",
            paramLabel = "D",
            description = "wait at most so long for a slot, such as 500ms, 30s or 5m; 0s is one attempt; default: as"
                    + " long as it takes")
    private @Nullable Duration wait;

    @Option(
            names = "--at-least",
            paramLabel = "D",
            description = "keep the slot at least so long, such as 1m, although the command ends before: for a job that"
                    + " cron starts on many hosts at about the same time, together with --wait 0s. A signal ends it")
    private Duration atLeast = Duration.ZERO;

    @Option(
            names = "--label",
            paramLabel = "TEXT",
            description =
                    "what 'status' shows beside the slot; not together with a label in the URI; default: COMMAND without its"
                            + " path and arguments")
    private @Nullable String label;

    @Override
    public Integer call() throws Exception {
        refuseMissingDashes();
        refuseDescriptors();
        if (atLeast.compareTo(LONGEST_AT_LEAST) > 0) {
            throw new ParameterException(
                    spec.commandLine(), "--at-least is " + Durations.format(atLeast) + ", at most 1d is allowed");
        }
        // Before a slot is taken, which would only be given back.
        Path unused = SlotLocks.folder();
        try (SignalRelay signals = new SignalRelay(Thread.currentThread());
                SemaphoreClient client = connect()) {
            if (limit != null) {
                create(client, limit);
            }
            // From here on there may be a slot to give back; before, a signal may do what it does to any JVM.
            signals.install();
            try (PermitGroup held = acquire(client).orElseThrow(this::noSlotInTime)) {
                List<Integer> slots = held.permits().stream().map(Permit::slot).toList();
                List<Path> locks = SlotLocks.of(semaphore.backend(), name, slots);
                int code = new GuardedRun(
                                name, held, locks, signals, spec.commandLine().getErr(), atLeast)
                        .run(command);
                noteRun();
                return code;
            } catch (InterruptedException e) {
                return signals.exitCodeOfFirst();
            }
        }
    }

    private static void noteRun() {
        String file = System.getProperty(RAN, "");
        try {
            if (!file.isEmpty()) {
                Files.createFile(Path.of(file));
            }
        } catch (IOException | InvalidPathException e) {
            // Then the archive is not used, and a later run makes another one.
        }
    }

    /** Without it an option of the command would be taken for one of ours. */
    private void refuseMissingDashes() {
        List<String> words = spec.root().commandLine().getParseResult().originalArgs();
        int dashes = words.indexOf("--");
        if (command.isEmpty() || dashes < 0 || words.size() - dashes - 1 != command.size()) {
            throw new ParameterException(
                    spec.commandLine(), "Write -- and then the command to run, after NAME and options");
        }
    }

    /** As a shell writes for {@code <(...)}. A JVM closes them in what it starts, and the command would find nothing there. */
    private void refuseDescriptors() {
        for (String word : command) {
            if (DESCRIPTOR.matcher(word).matches()) {
                throw new ParameterException(
                        spec.commandLine(),
                        "'" + word
                                + "' is a descriptor that the command does not get: it has standard input, output and error"
                                + " only. Pass it a file, or have a shell open it: -- bash -c '...'");
            }
        }
    }

    private SemaphoreClient connect() {
        SemaphoreClientBuilder builder = semaphore.builder();
        boolean inUri = !BackendUri.parse(semaphore.backend()).text("label", "").isEmpty();
        if (label != null || !inUri) {
            builder.label(label == null ? commandName() : label);
        }
        return builder.connect();
    }

    private String commandName() {
        Path file = Path.of(command.get(0)).getFileName();
        String text = file == null ? "" : file.toString();
        return text.replaceAll("\\p{Cc}", "?").substring(0, Math.min(text.length(), HolderInfo.MAX_LABEL));
    }

    /** Rides out a backend that is away for a moment, as the wait for a slot does. */
    private void create(SemaphoreClient client, int size) throws InterruptedException {
        Duration patience = wait == null || wait.compareTo(AWAY) > 0 ? AWAY : wait;
        long end = System.nanoTime() + patience.toNanos();
        while (true) {
            try {
                client.admin().create(name, size);
                return;
            } catch (SemaphoreException e) {
                if (!e.isRetryable() || end - System.nanoTime() <= RETRY.toNanos()) {
                    throw e;
                }
            }
            Thread.sleep(RETRY.toMillis());
        }
    }

    private Optional<PermitGroup> acquire(SemaphoreClient client) throws InterruptedException {
        PrintWriter err = spec.commandLine().getErr();
        if (SemaphoreCommand.isVerbose(spec.commandLine())) {
            ErrorLine.print(err, "asking for " + permits + " of " + name);
        }
        // In the background another program has the terminal.
        boolean shows = Terminal.takesErrors() && Terminal.isForeground();
        WaitLine line = shows ? new WaitLine(err, () -> whatItWaitsFor(client)) : null;
        try {
            return client.semaphore(name).tryAcquire(permits, wait == null ? ChronoUnit.FOREVER.getDuration() : wait);
        } finally {
            if (line != null) {
                line.close();
            }
        }
    }

    private String whatItWaitsFor(SemaphoreClient client) {
        String waiting = "waiting for " + (permits == 1 ? "" : permits + " permits of ") + name;
        try {
            client.ping(ANSWER);
            return client.admin()
                    .status(name)
                    .map(now -> waiting + ": " + (now.limit() - now.free()) + " of " + now.limit() + " held")
                    .orElse(waiting);
        } catch (BackendUnavailableException | OutcomeUnknownException e) {
            return waiting + ": the backend does not answer";
        } catch (SemaphoreException e) {
            // What is wrong with it the wait itself finds out.
            return waiting;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return waiting;
        }
    }

    private CommandFailure noSlotInTime() {
        String time = wait == null ? "any time" : Durations.format(wait);
        return new CommandFailure(
                ExitCodes.NO_SLOT_IN_TIME,
                name + ": no slot was free within " + time + "; 'semaphore status " + name
                        + "' shows who holds them, --wait waits longer");
    }
}
