package io.github.distributedsemaphore.cli.run;

import io.github.distributedsemaphore.cli.common.CommandFailure;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A small shell that outlives this process by as much as it takes to kill the command. It reads a pipe whose other end
 * only this process has: however this process dies, the pipe ends. It also sends signals, for which Java has no call.
 *
 * <p>Why not Linux's parent-death signal: it reaches the command itself and none of its children, it is dropped when a
 * set-user-ID program starts, and it follows the thread that started the command rather than the process.
 *
 * <p>Thread-safe.
 */
final class DeathWatch {
    /** In the command's environment: tells the watch which processes are of this run. The marks of all runs around, this one's last. */
    static final String MARK_VARIABLE = "SEMAPHORE_RUN";

    /** The shell looks for its own mark behind such ones only. */
    private static final Pattern MARKS = Pattern.compile("[0-9a-f -]+");

    private static final String SCRIPT = "death-watch.sh";

    /**
     * The shell ignores these signals, and so do the programs around it that hold the locks, as a program begins with what its parent
     * ignored. A service manager sends SIGTERM to all of a service at once; if one of those programs ended, this process
     * would seem to have died.
     */
    private static final List<String> DEAF =
            List.of("sh", "-c", "trap '' HUP INT QUIT TERM TSTP TTIN TTOU PIPE; exec \"$@\"", "semaphore-death-watch");

    /** For a watch to kill a command: it takes milliseconds. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    /** For the process that takes one lock to start: some five milliseconds, on a machine with time. */
    private static final Duration PATIENCE_PER_LOCK = Duration.ofMillis(25);

    private final String mark;
    private final Process shell;

    private DeathWatch(String mark, Process shell) {
        this.mark = mark;
        this.shell = shell;
    }

    /**
     * Starts the watch, and waits for the locks.
     *
     * @param mark marks the processes of this run
     * @param locks files to lock for as long as the watch lives
     * @throws CommandFailure if a lock is not free in time: the command of a former holder is still there
     */
    static DeathWatch start(String mark, List<Path> locks) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        // A session of its own: a signal to our process group, as from a terminal or from kill -9 %1, misses it.
        if (onPath("setsid")) {
            command.add("setsid");
        }
        if (onPath("flock") && !locks.isEmpty()) {
            command.addAll(DEAF);
            locks.forEach(lock -> command.addAll(List.of("flock", lock.toString())));
        }
        command.addAll(List.of("sh", "-c", script(), "semaphore-death-watch", MARK_VARIABLE, mark));
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().remove(MARK_VARIABLE);
        DeathWatch watch = new DeathWatch(mark, builder.start());
        try {
            watch.awaitReady(locks.size());
            return watch;
        } catch (CommandFailure | IOException | InterruptedException e) {
            watch.breakOff();
            throw e;
        }
    }

    private void awaitReady(int locks) throws IOException, InterruptedException {
        Duration patience = PATIENCE.plus(PATIENCE_PER_LOCK.multipliedBy(locks));
        try {
            CompletableFuture.supplyAsync(this::readLine).get(patience.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new CommandFailure(ExitCodes.NO_SLOT_IN_TIME, notReady(locks, patience.toSeconds()));
        } catch (ExecutionException e) {
            throw new IOException("the shell that watches over the command did not start", e);
        }
    }

    private static String notReady(int locks, long seconds) {
        String shown = "'ps' shows it, with SEMAPHORE_RUN in its environment";
        return locks == 1
                ? "the command of this slot's former holder is still running after " + seconds + " s; " + shown
                : "the locks of these " + locks + " slots were not all free after " + seconds
                        + " s; if a former holder's command is still running, " + shown;
    }

    private String readLine() {
        try {
            String line = shell.inputReader(StandardCharsets.US_ASCII).readLine();
            if (line == null) {
                throw new EOFException("it ended at once");
            }
            return line;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void breakOff() {
        shell.descendants().forEach(ProcessHandle::destroyForcibly);
        shell.destroyForcibly();
    }

    private static boolean onPath(String program) {
        String path = System.getenv("PATH");
        return path != null
                && Stream.of(path.split(":", -1)).anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
    }

    private static String script() throws IOException {
        try (InputStream in = DeathWatch.class.getResourceAsStream(SCRIPT)) {
            if (in == null) {
                throw new IOException(
                        "the program is incomplete: " + SCRIPT + " is missing beside " + DeathWatch.class);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    String mark() {
        return mark;
    }

    /** In a run inside a run the command is of both: what it leaves behind ends with either. What is no mark is not kept. */
    static String marks(String outer, String own) {
        return MARKS.matcher(outer).matches() ? outer + " " + own : own;
    }

    /** Tells the shell that the command is about to be started: a kill from now on may leave one that nobody knows the number of. */
    void starting() {
        say("starting");
    }

    /** Names the process of the command. If the shell was killed meanwhile, the command goes on, as it does if that happens later. */
    void watch(long pid) {
        try {
            say("watch " + pid);
        } catch (UncheckedIOException e) {
            // The command has begun its work. It can still be ended: see signal and kill.
        }
    }

    /**
     * Sends a signal to the process that is watched.
     *
     * @return false if the shell is gone
     */
    boolean signal(String name) {
        try {
            say("signal " + name);
            return true;
        } catch (UncheckedIOException e) {
            return false;
        }
    }

    /**
     * Has the shell kill some processes, their descendants and all that bears the mark, and waits until they are gone:
     * what goes on needs the locks. Does nothing if the shell is gone.
     */
    void kill(List<ProcessHandle> processes) {
        // The number that the shell knows from the start may be another process's by now.
        String numbers =
                processes.stream().map(process -> String.valueOf(process.pid())).collect(Collectors.joining(" "));
        try {
            say("kill " + numbers);
            shell.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (UncheckedIOException e) {
            // There is nobody else who could find them.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Tells the shell that there is nothing left to kill, and sees it end. */
    void dismiss() {
        try {
            say("dismiss");
            shell.getOutputStream().close();
            shell.waitFor(1, TimeUnit.SECONDS);
        } catch (IOException | UncheckedIOException e) {
            // Somebody killed the shell; that is the end as well.
            shell.destroyForcibly();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void say(String line) {
        try {
            OutputStream pipe = shell.getOutputStream();
            pipe.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
            pipe.flush();
        } catch (IOException e) {
            throw new UncheckedIOException("the shell that watches over the command was killed", e);
        }
    }
}
