package io.github.distributedsemaphore.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The real command in a process of its own, started as {@code bin/semaphore} starts it but from the classes under test. */
public final class CommandProcess implements AutoCloseable {
    /**
     * Whoever started the tests may ignore signals, as nohup does, and so do scripts for what they start in the background. That is
     * inherited, and a shell cannot trap what it was told to ignore. Java cannot undo it, nor can the env of every system.
     */
    public static final List<String> WITH_SIGNALS = withSignals(List.of("env", "--default-signal=HUP,INT,TERM"));

    private final Process process;
    private final Path out;
    private final Path err;

    private CommandProcess(Process process, Path out, Path err) {
        this.process = process;
        this.out = out;
        this.err = err;
    }

    private static List<String> withSignals(List<String> prefix) {
        try {
            List<String> trial = new ArrayList<>(prefix);
            trial.add("true");
            return new ProcessBuilder(trial).start().waitFor() == 0 ? prefix : List.of();
        } catch (IOException e) {
            return List.of();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return List.of();
        }
    }

    static CommandProcess start(Path folder, List<String> words) {
        return start(folder, Map.of(), words);
    }

    public static CommandProcess start(Path folder, Map<String, String> environment, List<String> words) {
        try {
            Path out = Files.createTempFile(folder, "out", ".txt");
            Path err = Files.createTempFile(folder, "err", ".txt");
            List<String> command = new ArrayList<>(WITH_SIGNALS);
            command.addAll(command(words));
            ProcessBuilder builder =
                    new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
            builder.environment().keySet().removeIf(name -> name.startsWith("SEMAPHORE_"));
            builder.environment().putAll(environment);
            return new CommandProcess(builder.start(), out, err);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What is to be executed, and nothing around it. */
    static List<String> command(List<String> words) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-classpath",
                System.getProperty("java.class.path"),
                Main.class.getName()));
        command.addAll(words);
        return command;
    }

    void input(String text) {
        try (var in = process.getOutputStream()) {
            in.write(text.getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public void signal(String name) {
        send(name, process.pid());
    }

    static void send(String signal, long pid) {
        try {
            // Java can send TERM and KILL only.
            int code = new ProcessBuilder("sh", "-c", "kill -s " + signal + " " + pid)
                    .inheritIO()
                    .start()
                    .waitFor();
            if (code != 0) {
                throw new IllegalStateException("kill -s " + signal + " " + pid + " ended with " + code);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The processes that watch over the run of a mark, which they have on their command line. */
    static List<ProcessHandle> watchers(String mark) {
        try (Stream<ProcessHandle> all = ProcessHandle.allProcesses()) {
            return all.filter(process -> process.info()
                            .commandLine()
                            .filter(line -> line.contains(mark))
                            .isPresent())
                    .toList();
        }
    }

    /** Ends it by force, itself and nothing that it started. */
    void kill() {
        process.destroyForcibly();
    }

    long pid() {
        return process.pid();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    public int exitCode() {
        try {
            if (!process.waitFor(60, TimeUnit.SECONDS)) {
                throw new AssertionError("still running; its errors: " + err());
            }
            return process.exitValue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    public String out() {
        return read(out);
    }

    String err() {
        return read(err);
    }

    public static String read(Path file) {
        try {
            return Files.exists(file) ? Files.readString(file) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        process.onExit().join();
    }
}
