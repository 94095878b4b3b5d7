package io.github.distributedsemaphore.cli.run;

import io.github.distributedsemaphore.cli.common.CommandFailure;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import io.github.distributedsemaphore.cli.common.Terminal;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The command of {@code semaphore run}: it has our standard streams, gets our signals, and does not outlive us.
 * Thread-safe.
 */
final class ChildProcess implements AutoCloseable {
    /** How long the command has to end when it is asked to. */
    static final Duration GRACE = Duration.ofSeconds(5);

    /** ENOENT, as JDK 17 and JDK 25 write it: a process builder has no other way to tell what went wrong. */
    private static final Pattern NO_SUCH_FILE = Pattern.compile("error[=:] ?2\\b");

    private final List<String> command;
    private final Map<String, String> environment;
    private final DeathWatch watch;
    private volatile @Nullable Process process;

    private ChildProcess(List<String> command, Map<String, String> environment, DeathWatch watch) {
        this.command = command;
        this.environment = environment;
        this.watch = watch;
    }

    /**
     * Gets everything ready for a start. The watch comes first: there is no moment at which the command is unwatched.
     *
     * @param locks held until the command is gone, see {@link SlotLocks}
     */
    static ChildProcess prepare(List<String> command, Map<String, String> environment, List<Path> locks)
            throws IOException, InterruptedException {
        String mark = UUID.randomUUID().toString();
        return new ChildProcess(command, environment, DeathWatch.start(mark, locks));
    }

    /**
     * Starts the command. Call once.
     *
     * @throws CommandFailure if it is not found or cannot be executed
     */
    void start() {
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        restoreLocale(builder.environment());
        builder.environment().putAll(environment);
        builder.environment().merge(DeathWatch.MARK_VARIABLE, watch.mark(), DeathWatch::marks);
        try {
            watch.starting();
            Process started = builder.start();
            process = started;
            watch.watch(started.pid());
        } catch (IOException e) {
            throw cannotStart(e);
        }
    }

    private static void restoreLocale(Map<String, String> environment) {
        String users = environment.remove(Terminal.USERS_LOCALE);
        if (users != null && users.startsWith("=")) {
            environment.put("LC_ALL", users.substring(1));
        } else if (users != null) {
            environment.remove("LC_ALL");
        }
    }

    private CommandFailure cannotStart(IOException e) {
        boolean missing = NO_SUCH_FILE.matcher(String.valueOf(e.getMessage())).find();
        return new CommandFailure(
                missing ? ExitCodes.NOT_FOUND : ExitCodes.NOT_EXECUTABLE,
                command.get(0) + (missing ? ": command not found" : ": cannot be executed: " + e.getMessage()));
    }

    /** Completes with the exit code when the command has ended; 128 + the number if a signal ended it. */
    CompletableFuture<Integer> exited() {
        return started().onExit().thenApply(Process::exitValue);
    }

    private Process started() {
        Process running = process;
        if (running == null) {
            throw new IllegalStateException("the command was not started");
        }
        return running;
    }

    /**
     * Passes a signal on.
     *
     * @param name without SIG. If the watch is gone it arrives as TERM, the one that Java can send by itself
     */
    void signal(String name) {
        Process running = started();
        if (running.isAlive() && (name.equals("TERM") || !watch.signal(name))) {
            running.destroy();
        }
    }

    /**
     * Ends the command and its descendants: politely, and after the grace period by force. Processes that have lost their
     * parent get no signal before SIGKILL.
     */
    void terminate(Duration grace) {
        Process running = started();
        long end = System.nanoTime() + grace.toNanos();
        Set<ProcessHandle> family = new LinkedHashSet<>(List.of(running.toHandle()));
        running.descendants().forEach(family::add);
        family.forEach(ProcessHandle::destroy);
        family.forEach(member -> awaitExit(member, end));
        // The shell finds what was started meanwhile and what has no parent left.
        watch.kill(family.stream().filter(ProcessHandle::isAlive).toList());
        // Somebody may have killed the shell.
        family.forEach(ProcessHandle::destroyForcibly);
        exited().join();
    }

    private static void awaitExit(ProcessHandle member, long end) {
        ProcessHandle unused = member.onExit()
                .completeOnTimeout(member, end - System.nanoTime(), TimeUnit.NANOSECONDS)
                .join();
    }

    /** Ends the watch; and first the command, should it still run because something went wrong here. */
    @Override
    public void close() {
        Process running = process;
        if (running != null && running.isAlive()) {
            terminate(GRACE);
        }
        watch.dismiss();
    }
}
