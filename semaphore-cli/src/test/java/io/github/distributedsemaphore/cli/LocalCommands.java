package io.github.distributedsemaphore.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine;

/** The command over {@code local:} in a test's own folder: in this process, or as a process of its own. */
final class LocalCommands {
    private final Path folder;

    LocalCommands(Path folder) {
        this.folder = folder;
    }

    /** What a command did that ran in this process. */
    record Outcome(int code, String out, String err) {}

    Path folder() {
        return folder;
    }

    String backend() {
        return "local:" + folder.resolve("state");
    }

    Outcome execute(String... words) {
        return executeOn(backend(), words);
    }

    /** Runs a command in this process on whatever backend. */
    static Outcome executeOn(String backend, String... words) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        String[] all = withBackend(backend, words).toArray(String[]::new);
        CommandLine line = Main.commandLine(all);
        line.setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
        int code = line.execute(all);
        return new Outcome(code, out.toString(), err.toString());
    }

    /** Makes what is stored under a name no semaphore of this version. */
    void damage(String name) {
        try (Stream<Path> all = Files.walk(folder.resolve("state"))) {
            Path limit = all.filter(file -> file.endsWith(Path.of("n-" + name, "limit")))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("no limit of " + name));
            Files.writeString(limit, "something else\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs a shell script under a permit. The script's folder is the test's. */
    CommandProcess run(String options, String script) {
        List<String> words = withBackend(backend(), ("run " + options + " --").split(" "));
        words.addAll(List.of("sh", "-c", "cd '" + folder + "'\n" + script));
        return CommandProcess.start(folder, words);
    }

    private static List<String> withBackend(String backend, String... words) {
        List<String> all = new ArrayList<>(List.of("--backend", backend));
        all.addAll(List.of(words));
        return all;
    }

    String file(String name) {
        return CommandProcess.read(folder.resolve(name));
    }
}
