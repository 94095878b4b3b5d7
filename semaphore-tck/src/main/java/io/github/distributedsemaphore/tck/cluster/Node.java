package io.github.distributedsemaphore.tck.cluster;

import io.github.distributedsemaphore.tck.agent.Signals;
import io.github.distributedsemaphore.tck.harness.ProcessServer;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A server of a cluster: one or several processes on one host, which are started, suspended and killed together. Each of these
 * returns when it has happened. Not thread-safe.
 */
public final class Node {
    private static final long PATIENCE_SECONDS = 60;

    private final Host host;
    private final Path folder;
    private final List<List<String>> commands;
    private final Map<String, String> environment;
    private final List<Process> processes = new ArrayList<>();

    /**
     * Describes a node that does not run yet.
     *
     * @param host where
     * @param folder its files; what it stores is in the folder {@code data} in there, and what it prints in {@code log}
     * @param commands what to start, in this order
     * @param environment variables of all of them
     */
    public Node(Host host, Path folder, List<List<String>> commands, Map<String, String> environment) {
        this.host = host;
        this.folder = folder;
        this.commands = List.copyOf(commands);
        this.environment = Map.copyOf(environment);
    }

    /**
     * Returns where it runs.
     *
     * @return the host
     */
    public Host host() {
        return host;
    }

    /** Starts it with the data that it has. It may serve later only. */
    public void start() {
        if (isRunning()) {
            throw new IllegalStateException("node " + host.name() + " runs already");
        }
        processes.clear();
        try {
            Files.createDirectories(data());
            for (List<String> command : commands) {
                ProcessBuilder builder = new ProcessBuilder(host.command(command))
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.appendTo(new File(folder.toFile(), "log")));
                builder.environment().putAll(environment);
                processes.add(builder.start());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Tells whether all of its processes run.
     *
     * @return false before the start, and as soon as one has ended
     */
    public boolean isRunning() {
        return !processes.isEmpty() && processes.stream().allMatch(Process::isAlive);
    }

    /** Ends it with SIGKILL. */
    public void kill() {
        processes.forEach(Process::destroyForcibly);
        for (Process process : processes) {
            try {
                if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                    throw new IllegalStateException("process " + process.pid() + " does not end");
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while a node was ending", e);
            }
        }
    }

    /** Stops its processes with SIGSTOP: connections stay, and nothing is answered. */
    public void suspend() {
        processes.forEach(process -> Signals.stop(process.pid()));
    }

    /** Has its processes go on after {@link #suspend}. */
    public void resume() {
        processes.forEach(process -> Signals.resume(process.pid()));
    }

    /** Ends what is left of it, and starts it with the data that it has. */
    public void restart() {
        kill();
        start();
    }

    /** Removes what a killed node has stored. */
    public void wipe() {
        if (processes.stream().anyMatch(Process::isAlive)) {
            throw new IllegalStateException("node " + host.name() + " runs: kill it before its data are removed");
        }
        ProcessServer.delete(data());
    }

    private Path data() {
        return folder.resolve("data");
    }

    /**
     * Reads what its processes have printed.
     *
     * @return the text; empty if there is none
     */
    public String log() {
        try {
            return Files.readString(folder.resolve("log"));
        } catch (IOException e) {
            return "";
        }
    }

    @Override
    public String toString() {
        return host.name() + " (" + host.address() + ")";
    }
}
