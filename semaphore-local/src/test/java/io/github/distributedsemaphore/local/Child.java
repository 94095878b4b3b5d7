package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.tck.agent.Signals;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Another JVM that runs {@link ChildMain}, ended at the latest by close. */
final class Child implements AutoCloseable {
    private final Process process;
    private final BufferedReader output;

    private Child(Process process) {
        this.process = process;
        this.output = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    static Child start(Object... arguments) {
        return start(List.of(), arguments);
    }

    /** Starts one whose writes fail beyond so many KiB of a file. */
    static Child startWithFilesUpTo(int kilobytes, Object... arguments) {
        // In units of 512 bytes.
        return start(List.of("sh", "-c", "ulimit -f " + 2 * kilobytes + " && exec \"$@\"", "sh"), arguments);
    }

    private static Child start(List<String> wrapper, Object... arguments) {
        List<String> command = new ArrayList<>(wrapper);
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx64m",
                "-cp",
                System.getProperty("java.class.path"),
                ChildMain.class.getName()));
        for (Object argument : arguments) {
            command.add(argument.toString());
        }
        try {
            return new Child(new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits for its next line that begins so, and returns the rest of it. */
    String await(String beginning) {
        try {
            String line = output.readLine();
            while (line != null && !line.startsWith(beginning)) {
                line = output.readLine();
            }
            if (line == null) {
                throw new AssertionError("the child ended without '" + beginning + "'");
            }
            return line.substring(beginning.length()).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Lets it go on with its next round. */
    void next() {
        try {
            process.getOutputStream().write('\n');
            process.getOutputStream().flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    long pid() {
        return process.pid();
    }

    /** Has each of its threads stand still, by SIGSTOP. */
    void stop() {
        if (!Signals.stop(pid())) {
            throw new AssertionError("the process has ended");
        }
    }

    void resume() {
        Signals.resume(pid());
    }

    /** Has its writes fail beyond so many bytes of a file, or {@code unlimited}, from now on. */
    void limitFilesTo(String bytes) {
        try {
            Process prlimit = new ProcessBuilder("prlimit", "--pid", Long.toString(pid()), "--fsize=" + bytes + ":")
                    .inheritIO()
                    .start();
            if (prlimit.waitFor() != 0) {
                throw new AssertionError("prlimit ended with " + prlimit.exitValue());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Ends it by SIGKILL and waits until it has gone. */
    void kill() {
        process.destroyForcibly();
        awaitEnd();
    }

    /** Lets it end in order: it ends when its input does. */
    void finish() {
        try {
            process.getOutputStream().write('\n');
            process.getOutputStream().close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        awaitEnd();
        if (process.exitValue() != 0) {
            throw new AssertionError("the child ended with " + process.exitValue());
        }
    }

    private void awaitEnd() {
        try {
            if (!process.waitFor(30, TimeUnit.SECONDS)) {
                throw new AssertionError("the child does not end");
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
        awaitEnd();
    }
}
