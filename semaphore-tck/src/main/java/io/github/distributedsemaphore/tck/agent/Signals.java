package io.github.distributedsemaphore.tck.agent;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Stream;

/** Stops processes and has them go on, with the system's own command, as Java has no call for it. Thread-safe. */
public final class Signals {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private Signals() {}

    /**
     * Stops a process with SIGSTOP, and returns when the kernel says of each of its threads that it is stopped.
     *
     * @param pid its id
     * @throws AssertionError if it does not stop
     */
    public static void stop(long pid) {
        send(pid, "STOP");
        long start = System.nanoTime();
        while (!allThreadsAre(pid, 'T')) {
            if (System.nanoTime() - start > PATIENCE.toNanos()) {
                throw new AssertionError("process " + pid + " does not stop, its state is " + state(pid));
            }
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError("interrupted", e);
            }
        }
    }

    /**
     * Has a stopped process go on.
     *
     * @param pid its id
     */
    public static void resume(long pid) {
        send(pid, "CONT");
        if (state(pid) == 'T') {
            throw new AssertionError("process " + pid + " does not go on");
        }
    }

    private static void send(long pid, String signal) {
        try {
            Process kill = new ProcessBuilder("kill", "-" + signal, Long.toString(pid))
                    .inheritIO()
                    .start();
            if (kill.waitFor() != 0) {
                throw new AssertionError("kill -" + signal + " " + pid + " failed");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    /** The letter by which the kernel tells the state of a process: T is stopped. */
    private static char state(long pid) {
        try {
            return state(Path.of("/proc", Long.toString(pid), "stat"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static char state(Path file) throws IOException {
        String stat = Files.readString(file);
        return stat.charAt(stat.lastIndexOf(')') + 2);
    }

    /** Whether every thread of the process is in a state. */
    private static boolean allThreadsAre(long pid, char state) {
        try (Stream<Path> threads = Files.list(Path.of("/proc", Long.toString(pid), "task"))) {
            return threads.allMatch(thread -> {
                try {
                    return state(thread.resolve("stat")) == state;
                } catch (IOException e) {
                    return true; // it has ended
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
