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
     * @return whether it is stopped; false if it has ended, as the short-lived processes of a server may
     * @throws AssertionError if it neither stops nor ends
     */
    public static boolean stop(long pid) {
        long start = System.nanoTime();
        boolean alive = send(pid, "STOP");
        while (alive && !allThreadsAre(pid, 'T')) {
            if (System.nanoTime() - start > PATIENCE.toNanos()) {
                throw new AssertionError("process " + pid + " does not stop, its state is " + state(pid));
            }
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError("interrupted", e);
            }
            alive = !hasEnded(pid);
        }
        return alive;
    }

    /**
     * Has a stopped process go on. One that has ended is left alone.
     *
     * @param pid its id
     */
    public static void resume(long pid) {
        if (send(pid, "CONT") && state(pid) == 'T') {
            throw new AssertionError("process " + pid + " does not go on");
        }
    }

    /** Returns whether the process was there. */
    private static boolean send(long pid, String signal) {
        try {
            // That of the shell: not every machine has it as a program.
            Process kill = new ProcessBuilder("sh", "-c", "kill -s " + signal + " " + pid)
                    .inheritIO()
                    .start();
            if (kill.waitFor() == 0) {
                return true;
            }
            if (hasEnded(pid)) {
                return false;
            }
            throw new AssertionError("kill -" + signal + " " + pid + " failed");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    /** A zombie has ended: its parent may be stopped and not know it. */
    private static boolean hasEnded(long pid) {
        return "XZ".indexOf(state(pid)) >= 0;
    }

    /** The letter by which the kernel tells the state of a process: T is stopped, X there is none. */
    private static char state(long pid) {
        try {
            return state(Path.of("/proc", Long.toString(pid), "stat"));
        } catch (IOException e) {
            return 'X';
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
            return true; // it has ended
        }
    }
}
