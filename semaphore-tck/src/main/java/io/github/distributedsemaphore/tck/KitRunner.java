package io.github.distributedsemaphore.tck;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.github.distributedsemaphore.tck.jvms.KitJvm;
import io.github.distributedsemaphore.tck.jvms.PlannedTests;
import io.github.distributedsemaphore.tck.run.TckRun;
import io.github.distributedsemaphore.tck.run.TckSettings;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.junit.platform.engine.TestTag;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;

/** Runs the kit without a build tool, one run at a time in a JVM. */
public final class KitRunner {
    private static final String TEST_TIMEOUT = "10 m";

    private KitRunner() {}

    /**
     * A test that has ended.
     *
     * @param section the section it belongs to
     * @param name what it shows, beginning with its rules
     * @param outcome {@code passed}, {@code failed} or {@code aborted}
     * @param reason why not passed; empty if it was
     * @param number how many have ended
     * @param of how many are known so far
     */
    public record Ended(String section, String name, String outcome, String reason, int number, int of) {}

    /**
     * How a run came out.
     *
     * @param passed how many tests passed
     * @param aborted how many were aborted, because something is not declared or not to be had
     * @param failures those that failed
     * @param report the folder with {@code conformance.json}, {@code conformance.txt} and {@code conformance.html}
     */
    public record Outcome(int passed, int aborted, List<Ended> failures, Path report) {
        /**
         * Keeps an unmodifiable copy.
         *
         * @param passed see the record
         * @param aborted see the record
         * @param failures see the record
         * @param report see the record
         */
        public Outcome {
            failures = List.copyOf(failures);
        }
    }

    /**
     * Runs it, which takes minutes. What it stores is in a name space of its own, and removed again.
     *
     * @param kit the test class, which supplies the harness
     * @param settings {@code tck.mode}, {@code tck.seed} and so on, as {@link SemaphoreTck} has them
     * @param sections the tags of the sections to run; all if empty
     * @param reports a folder for the report
     * @param progress is told of each test as it ends
     * @return how it came out
     * @throws IllegalArgumentException if a setting is wrong, or no test has the tag of a section
     */
    public static synchronized Outcome run(
            Class<? extends SemaphoreTck> kit,
            Map<String, String> settings,
            Set<String> sections,
            Path reports,
            Consumer<Ended> progress) {
        TckSettings.from(settings::get);
        Launcher launcher = KitJvm.launcher();
        if (!sections.isEmpty()) {
            TestPlan whole = launcher.discover(request(kit, settings, Set.of(), reports));
            checkSections(sections, whole);
        }
        KitListener listener = new KitListener(progress);
        launcher.execute(request(kit, settings, sections, reports), new PlannedTests(), listener);
        return listener.outcome(reports.resolve(kit.getSimpleName()));
    }

    /** A run without tests would look like one in which every rule was kept. */
    private static void checkSections(Set<String> sections, TestPlan whole) {
        Set<String> known = whole.getRoots().stream()
                .flatMap(root -> whole.getDescendants(root).stream())
                .flatMap(test -> test.getTags().stream())
                .map(TestTag::getName)
                .collect(Collectors.toCollection(TreeSet::new));
        for (String section : sections) {
            if (!known.contains(section)) {
                throw new IllegalArgumentException(
                        "the section is '" + section + "', it must be one of " + String.join(", ", known));
            }
        }
    }

    private static LauncherDiscoveryRequest request(
            Class<? extends SemaphoreTck> kit, Map<String, String> settings, Set<String> sections, Path reports) {
        LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request()
                .selectors(selectClass(kit))
                .configurationParameter("junit.jupiter.execution.timeout.default", TEST_TIMEOUT)
                .configurationParameters(settings)
                .configurationParameter("tck.reports", reports.toString());
        if (!sections.isEmpty()) {
            request.filters(TagFilter.includeTags(List.copyOf(sections)));
        }
        return request.build();
    }

    /**
     * Removes what a run that is about to be killed has stored, for a shutdown hook. What cannot be removed is left.
     */
    public static void abandon() {
        TckRun.abandonAll();
    }
}
