package io.github.distributedsemaphore.cli;

import io.github.distributedsemaphore.tck.KitRunner;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
final class TckCommand implements Callable<Integer> {
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
            names = "--section",
            paramLabel = "TAG",
            description = "only this section, such as safety, release or crash; can be repeated")
    private List<String> sections = List.of();

    @Override
    public Integer call() throws IOException {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("tck.mode", mode);
        if (seed != null) {
            settings.put("tck.seed", Long.toString(seed));
        }
        Path folder = Files.createTempDirectory("semaphore-tck");
        Thread tidying = new Thread(KitRunner::abandon, "semaphore-tck-tidying");
        Runtime.getRuntime().addShutdownHook(tidying);
        try {
            TckProgress progress = TckProgress.on(spec.commandLine().getErr());
            KitRunner.Outcome outcome = KitRunner.run(
                    new UserServerHarness(semaphore.backend()), settings, Set.copyOf(sections), folder, progress);
            progress.end();
            return tell(outcome);
        } finally {
            Runtime.getRuntime().removeShutdownHook(tidying);
            delete(folder);
        }
    }

    private int tell(KitRunner.Outcome outcome) throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        Path text = outcome.report().resolve("conformance.txt");
        if (Files.exists(text)) {
            out.println(Files.readString(text));
        }
        if (report != null) {
            Files.copy(outcome.report().resolve("conformance.json"), report, StandardCopyOption.REPLACE_EXISTING);
            out.println("report: " + report);
        }
        outcome.failures()
                .forEach(failure ->
                        out.println("FAILED " + failure.section() + ", " + failure.name() + ": " + failure.reason()));
        out.println(
                outcome.passed() + " tests passed, " + outcome.aborted() + " were not for this backend or this run, "
                        + outcome.failures().size() + " failed");
        return outcome.failures().isEmpty() ? ExitCodes.OK : ExitCodes.RULE_BROKEN;
    }

    private static void delete(Path folder) {
        try (var files = Files.walk(folder)) {
            for (Path file : files.sorted(java.util.Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
