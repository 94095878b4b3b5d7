package io.github.distributedsemaphore.cli.tck;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.cli.common.SemaphoreCommand;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "tck",
        description = "Runs the compatibility kit against the backend, in a name space of its own, and removes what it"
                + " stored. It disturbs its own connections only: rules that need a server to be stopped, or its stored"
                + " state to be damaged, are reported as untested. The lower the detection time in the URI, the sooner it"
                + " is through. It loads the backend: choose one that nobody depends on.")
public final class TckCommand implements Callable<Integer> {
    /** For a server to answer that nobody else should be using. */
    private static final Duration ANSWER = Duration.ofSeconds(5);

    @ParentCommand
    private SemaphoreCommand semaphore;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Option(
            names = "--mode",
            paramLabel = "MODE",
            defaultValue = "quick",
            description = "quick (minutes), full (up to an hour: larger sizes, and three minutes under each kind of"
                    + " fault) or soak=D (the sizes of quick, and D under faults); default: quick")
    private String mode = "quick";

    @Option(names = "--seed", paramLabel = "N", description = "repeat the random choices of the run with this seed")
    private @Nullable Long seed;

    @Option(names = "--report", paramLabel = "FILE", description = "write the report to FILE, as JSON")
    private @Nullable Path report;

    @Option(
            names = "--html",
            paramLabel = "FILE",
            description = "write the report to FILE, as a page for a browser that needs no other file")
    private @Nullable Path html;

    @Option(
            names = "--section",
            paramLabel = "TAG",
            description = "only this section, such as safety, release or crash; can be repeated")
    private List<String> sections = List.of();

    @Override
    public Integer call() throws IOException, InterruptedException {
        checkWritable("--report", report);
        checkWritable("--html", html);
        // Before 168 tests find out one after the other.
        try (SemaphoreClient client = semaphore.connect()) {
            client.ping(ANSWER);
        }
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("tck.mode", mode);
        if (seed != null) {
            settings.put("tck.seed", Long.toString(seed));
        }
        CommandLine line = spec.commandLine();
        return new KitRun(line.getOut(), line.getErr())
                .run(semaphore.backend(), settings, sections, new KitRun.Targets(report, html));
    }

    /** Before a run of up to an hour has a result that then is lost. */
    private static void checkWritable(String option, @Nullable Path file) {
        if (file == null) {
            return;
        }
        if (Files.exists(file)) {
            if (Files.isDirectory(file) || !Files.isWritable(file)) {
                throw new IllegalArgumentException(
                        option + ": '" + file + "' is a directory or cannot be written; name another file");
            }
            return;
        }
        Path folder = file.toAbsolutePath().getParent();
        if (folder == null || !Files.isDirectory(folder) || !Files.isWritable(folder)) {
            throw new IllegalArgumentException(
                    option + ": the folder '" + folder + "' does not exist or cannot be written; make it first");
        }
    }
}
