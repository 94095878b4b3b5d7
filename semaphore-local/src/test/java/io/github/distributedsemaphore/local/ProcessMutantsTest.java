package io.github.distributedsemaphore.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import io.github.distributedsemaphore.tck.faults.CrashRules;
import io.github.distributedsemaphore.tck.faults.CrossProcessRules;
import io.github.distributedsemaphore.tck.faults.PauseRules;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;

/**
 * Backends that are wrong in all processes that share them are found out by the rules that take other processes, and those say
 * what is wrong. What a stopped holder may do after its lease is not tried here: this backend has no leases.
 */
class ProcessMutantsTest {
    /** A machine that stalls makes another failure of it: then it is tried again. */
    private static final int ATTEMPTS = 3;

    private static final int PARALLEL = 4;

    /** What the next run of this thread is over. */
    private static final ThreadLocal<SemaphoreTckHarness> HARNESS = new ThreadLocal<>();

    @TempDir
    Path folder;

    /** Supplies what the run is over. */
    interface Source extends HarnessSource {
        @Override
        default SemaphoreTckHarness harness() {
            return HARNESS.get();
        }
    }

    static class Crash extends CrashRules implements Source {}

    static class CrossProcess extends CrossProcessRules implements Source {}

    static class Paused extends PauseRules implements Source {}

    private static final List<Class<?>> SECTIONS = List.of(Crash.class, CrossProcess.class, Paused.class);

    private static final class Harness extends UriHarness {
        private final Path folder;

        Harness(ProcessMutant mutant, Path folder) {
            super("broken-local:" + folder + "?mutant=" + mutant);
            this.folder = folder;
        }

        @Override
        public Leftovers leftovers() {
            return Leftovers.of(Stream.of(ProcessMutant.STATE, ProcessMutant.MARKS)
                    .flatMap(part -> below(folder.resolve(part)).stream())
                    .toList());
        }

        private static List<String> below(Path part) {
            try (Stream<Path> files = Files.walk(part)) {
                return files.map(Path::toString).toList();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public boolean mayStay(Thread thread) {
            return Set.of("semaphore-local-watch", "FileSystemWatchService").contains(thread.getName());
        }
    }

    /** Most of their time these wait for processes and for time-outs, so several of them wait at once. */
    @TestFactory
    Stream<DynamicTest> everyMutantIsKilledByTheRuleItBreaks() {
        ExecutorService executor = Executors.newFixedThreadPool(PARALLEL, ProcessMutantsTest::apart);
        Map<ProcessMutant, Future<List<Throwable>>> runs = new LinkedHashMap<>();
        for (ProcessMutant mutant : ProcessMutant.values()) {
            if (mutant != ProcessMutant.NOTHING) {
                runs.put(mutant, executor.submit(() -> failures(run(mutant))));
            }
        }
        executor.shutdown();
        return runs.entrySet().stream()
                .map(run -> DynamicTest.dynamicTest(
                        run.getKey() + " breaks " + run.getKey().rule(),
                        () -> assertKilled(run.getKey(), run.getValue())))
                .onClose(() -> awaitEnd(executor));
    }

    /** All runs start, also where one test only was asked for: the folder is deleted after them. */
    private static void awaitEnd(ExecutorService executor) {
        try {
            assertThat(executor.awaitTermination(5, TimeUnit.MINUTES))
                    .as("all runs end within 5 minutes")
                    .isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** In a thread group of its own, so that its run is not blamed for the threads of the others. */
    private static Thread apart(Runnable body) {
        return new Thread(new ThreadGroup("tck-mutant"), body, "tck-mutant");
    }

    private void assertKilled(ProcessMutant mutant, Future<List<Throwable>> first) throws Exception {
        List<Throwable> failures = first.get(3, TimeUnit.MINUTES);
        for (int attempt = 1; attempt < ATTEMPTS && !isKilled(mutant, failures); attempt++) {
            FutureTask<List<Throwable>> again = new FutureTask<>(() -> failures(run(mutant)));
            apart(again).start();
            failures = again.get(3, TimeUnit.MINUTES);
        }
        assertThat(failures)
                .as("what rule %s says of %s", mutant.rule(), mutant)
                .isNotEmpty()
                .allMatch(AssertionError.class::isInstance)
                .anyMatch(failure -> says(failure, mutant.message()));
    }

    private static boolean isKilled(ProcessMutant mutant, List<Throwable> failures) {
        return !failures.isEmpty()
                && failures.stream().allMatch(AssertionError.class::isInstance)
                && failures.stream().anyMatch(failure -> says(failure, mutant.message()));
    }

    /** What kills a mutant is what is wrong with it, not that something was put around it. */
    @TestFactory
    Stream<DynamicTest> whatIsPutAroundAndChangesNothingBreaksNothing() {
        ExecutorService executor = Executors.newFixedThreadPool(PARALLEL, ProcessMutantsTest::apart);
        Map<RuleOf, Future<EngineExecutionResults>> runs = new LinkedHashMap<>();
        for (ProcessMutant mutant : ProcessMutant.values()) {
            if (mutant != ProcessMutant.NOTHING) {
                runs.computeIfAbsent(
                        new RuleOf(mutant.section(), mutant.rule()),
                        rule -> executor.submit(() -> execute(ProcessMutant.NOTHING, rule, UNHURRIED)));
            }
        }
        executor.shutdown();
        return runs.entrySet().stream()
                .map(run -> DynamicTest.dynamicTest(run.getKey().id, () -> assertKept(run.getKey(), run.getValue())))
                .onClose(() -> awaitEnd(executor));
    }

    /** A process may also be stopped in the middle of an operation, which holds up all others: then it is tried again. */
    private void assertKept(RuleOf rule, Future<EngineExecutionResults> first) throws Exception {
        EngineExecutionResults results = first.get(3, TimeUnit.MINUTES);
        for (int attempt = 1; attempt < ATTEMPTS && !failures(results).isEmpty(); attempt++) {
            FutureTask<EngineExecutionResults> again =
                    new FutureTask<>(() -> execute(ProcessMutant.NOTHING, rule, UNHURRIED));
            apart(again).start();
            results = again.get(3, TimeUnit.MINUTES);
        }
        assertThat(failures(results)).isEmpty();
        assertThat(results.testEvents().succeeded().count()).isPositive();
    }

    /** A rule, and the section that holds its tests. */
    private record RuleOf(Class<?> section, String id) {}

    /** Patient on a busy machine, where what is right passes. */
    private static final Map<String, String> UNHURRIED = Map.of("tck.patience", "20s", "tck.timeout.factor", "2");

    private EngineExecutionResults run(ProcessMutant mutant) throws IOException {
        return execute(mutant, new RuleOf(mutant.section(), mutant.rule()), Map.of("tck.patience", "1500ms"));
    }

    private EngineExecutionResults execute(ProcessMutant mutant, RuleOf rule, Map<String, String> parameters)
            throws IOException {
        Path apart = Files.createTempDirectory(folder, "run").toRealPath();
        Files.createDirectory(apart.resolve(ProcessMutant.MARKS));
        HARNESS.set(new Harness(mutant, apart));
        return EngineTestKit.engine("junit-jupiter")
                .configurationParameter("tck.report", "false")
                .configurationParameter("junit.jupiter.execution.timeout.default", "60 s")
                .configurationParameters(parameters)
                .selectors(testsOf(rule))
                .execute();
    }

    private static DiscoverySelector[] testsOf(RuleOf rule) {
        Class<?> runnable = SECTIONS.stream()
                .filter(type -> type.getSuperclass() == rule.section)
                .findFirst()
                .orElseThrow();
        List<DiscoverySelector> tests = new ArrayList<>();
        for (Method method : rule.section.getDeclaredMethods()) {
            Rule shown = method.getAnnotation(Rule.class);
            if (shown != null && List.of(shown.value()).contains(rule.id)) {
                tests.add(selectMethod(runnable, method));
            }
        }
        assertThat(tests).as("tests of rule %s", rule.id).isNotEmpty();
        return tests.toArray(DiscoverySelector[]::new);
    }

    private static List<Throwable> failures(EngineExecutionResults results) {
        return results.testEvents().failed().stream()
                .map(event -> event.getRequiredPayload(TestExecutionResult.class))
                .flatMap(result -> result.getThrowable().stream())
                .toList();
    }

    private static boolean says(Throwable failure, String message) {
        Predicate<Throwable> itself =
                cause -> String.valueOf(cause.getMessage()).contains(message);
        return Stream.iterate(failure, cause -> cause != null, Throwable::getCause)
                .anyMatch(itself);
    }
}
