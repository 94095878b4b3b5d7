package io.github.distributedsemaphore.cli.tck;

import io.github.distributedsemaphore.cli.common.ErrorLine;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import io.github.distributedsemaphore.tck.KitRunner;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One run of the kit. Apart from {@link TckCommand}, which is looked through for every {@code --help}: {@code bin/semaphore} puts
 * the kit on the path only for {@code tck}.
 */
final class KitRun {
    private final PrintWriter out;
    private final PrintWriter err;

    KitRun(PrintWriter out, PrintWriter err) {
        this.out = out;
        this.err = err;
    }

    /** Where the report goes, in which form. */
    record Targets(@Nullable Path json, @Nullable Path html) {}

    int run(String backend, Map<String, String> settings, List<String> sections, Targets targets) throws IOException {
        Path folder = Files.createTempDirectory("semaphore-tck");
        Thread tidying = new Thread(() -> abandon(folder), "semaphore-tck-tidying");
        Runtime.getRuntime().addShutdownHook(tidying);
        try {
            System.setProperty(UserServerTck.BACKEND, backend);
            TckProgress progress = TckProgress.on(err);
            KitRunner.Outcome outcome =
                    KitRunner.run(UserServerTck.class, settings, Set.copyOf(sections), folder, progress);
            progress.end();
            return tell(outcome, targets);
        } finally {
            if (isOver(tidying)) {
                delete(folder);
            }
        }
    }

    /** Ctrl-C may have come before; then the hook deletes. */
    private static boolean isOver(Thread tidying) {
        try {
            return Runtime.getRuntime().removeShutdownHook(tidying);
        } catch (IllegalStateException e) {
            return false;
        }
    }

    private static void abandon(Path folder) {
        try {
            KitRunner.abandon();
        } finally {
            try {
                delete(folder);
            } catch (UncheckedIOException e) {
                // The run, which still goes on, has written its report meanwhile.
            }
        }
    }

    private int tell(KitRunner.Outcome outcome, Targets targets) throws IOException {
        Path text = outcome.report().resolve("conformance.txt");
        if (Files.exists(text)) {
            out.println(Files.readString(text));
        }
        outcome.failures()
                .forEach(failure ->
                        out.println("FAILED " + failure.section() + ", " + failure.name() + ": " + failure.reason()));
        out.println(
                outcome.passed() + " tests passed, " + outcome.aborted() + " were not for this backend or this run, "
                        + outcome.failures().size() + " failed");
        copy(outcome.report().resolve("conformance.json"), targets.json());
        copy(outcome.report().resolve("conformance.html"), targets.html());
        return outcome.failures().isEmpty() ? ExitCodes.OK : ExitCodes.RULE_BROKEN;
    }

    /** There is none if the backend went away before the kit could begin. */
    private void copy(Path written, @Nullable Path report) throws IOException {
        if (report == null) {
            return;
        }
        if (Files.exists(written)) {
            // Into what is there, such as a link or /dev/stdout, not in its place.
            try (OutputStream file = Files.newOutputStream(report)) {
                Files.copy(written, file);
            }
            out.println("report: " + report);
        } else {
            ErrorLine.print(err, "the kit wrote no report, so there is none to put into " + report);
        }
    }

    private static void delete(Path folder) {
        try (var files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
