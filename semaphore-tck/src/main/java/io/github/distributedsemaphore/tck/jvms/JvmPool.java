package io.github.distributedsemaphore.tck.jvms;

import io.github.distributedsemaphore.tck.harness.AgentLauncher;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.ProcessServer;
import io.github.distributedsemaphore.tck.run.Failures;
import io.github.distributedsemaphore.tck.run.SectionShare;
import io.github.distributedsemaphore.tck.run.TckRun;
import io.github.distributedsemaphore.tck.run.TckSettings;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * The JVMs that run the sections of a test class side by side, seen from the JVM that JUnit was started in. Each has a harness of
 * its own, and takes a section that no other has taken. Here each test waits for the outcome that it has there. Thread-safe.
 */
public final class JvmPool implements AutoCloseable {
    /** A call that does not return would make a run without a time-out hang. */
    private static final String TIMEOUT = "junit.jupiter.execution.timeout.default";

    private final Path reports;
    private final boolean isReported;
    private final Path folder;
    private final List<Process> processes = new ArrayList<>();
    /** Done when all that a JVM had to say has been read. */
    private final List<CompletableFuture<?>> readers = new ArrayList<>();

    private final Map<String, TestOutcome> outcomes = new HashMap<>();
    private final List<TestOutcome> failedClasses = new ArrayList<>();
    private int running;

    private JvmPool(Path reports, boolean isReported) throws IOException {
        this.reports = reports;
        this.isReported = isReported;
        this.folder = Files.createTempDirectory("tck-jvms");
        // For a run that is interrupted; the JVMs hear the same signal.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> ProcessServer.delete(folder), "tck-jvms-tidying"));
        Files.createDirectories(reports);
    }

    /**
     * Starts the JVMs, and removes the report of the run before, also if the tests are to run in this JVM.
     *
     * @param testClass the context of the outermost test class
     * @param source says how many
     * @param settings of the run
     * @return empty if the tests are to run in this JVM: fewer than two others are wanted, or only one section is to run
     * @throws IOException if they do not start
     */
    public static Optional<JvmPool> start(ExtensionContext testClass, HarnessSource source, TckSettings settings)
            throws IOException {
        if (settings.share().isPresent()) {
            return Optional.empty();
        }
        Path reports =
                settings.reports().resolve(testClass.getRequiredTestClass().getSimpleName());
        if (settings.report()) {
            TckRun.removeReport(reports);
        }
        List<TestPlan> plans = PlannedTests.with(testClass.getUniqueId());
        if (plans.size() != 1) {
            return Optional.empty();
        }
        TestPlan plan = plans.get(0);
        List<TestIdentifier> tests = PlannedTests.below(plan, testClass.getUniqueId());
        List<String> sections = sections(tests);
        int jvms = Math.min(settings.jvms().orElse(source.jvms()), sections.size());
        if (jvms < 2) {
            return Optional.empty();
        }
        JvmPool pool = new JvmPool(reports, settings.report());
        List<String> ids = tests.stream().map(TestIdentifier::getUniqueId).toList();
        try {
            for (int number = 1; number <= jvms; number++) {
                SectionShare share = new SectionShare(pool.folder, number, jvms);
                share.reserve(sections.get(number - 1));
                pool.start(number, new KitJvm.Job(ids, parameters(plan, settings, share), properties()));
            }
        } catch (IOException | RuntimeException | Error e) {
            // Nobody would watch those that did start.
            pool.processes.forEach(Process::destroy);
            throw e;
        }
        return Optional.of(pool);
    }

    /** The names of their classes, slow ones first. */
    private static List<String> sections(List<TestIdentifier> tests) {
        return tests.stream()
                .map(test -> UniqueId.parse(test.getParentId().orElseThrow())
                        .getLastSegment()
                        .getValue())
                .distinct()
                .sorted(Comparator.comparingInt(SlowFirst::place))
                .toList();
    }

    private static Map<String, String> parameters(TestPlan plan, TckSettings settings, SectionShare share) {
        Map<String, String> parameters = new HashMap<>();
        for (String key : plan.getConfigurationParameters().keySet()) {
            plan.getConfigurationParameters().get(key).ifPresent(value -> parameters.put(key, value));
        }
        if (plan.getConfigurationParameters().get(TIMEOUT).isEmpty()) {
            parameters.put(TIMEOUT, "10 m");
        }
        parameters.put("tck.seed", Long.toString(settings.seed()));
        parameters.put("junit.jupiter.testclass.order.default", SlowFirst.class.getName());
        parameters.putAll(share.parameters());
        return parameters;
    }

    private static Map<String, String> properties() {
        Map<String, String> properties = new HashMap<>();
        System.getProperties().stringPropertyNames().forEach(key -> properties.put(key, System.getProperty(key)));
        return properties;
    }

    private void start(int number, KitJvm.Job job) throws IOException {
        AgentLauncher launcher = AgentLauncher.sameClassPath("");
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-ea",
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        KitJvm.class.getName())
                .redirectError(reports.resolve("jvm-" + number + ".log").toFile());
        builder.environment().put("CLASSPATH", launcher.classPath());
        Process process = builder.start();
        processes.add(process);
        synchronized (this) {
            running++;
        }
        BufferedWriter in = process.outputWriter(StandardCharsets.UTF_8);
        in.write(job.toLine() + "\n");
        in.flush();
        readers.add(CompletableFuture.runAsync(() -> read(process), task -> {
            Thread reader = new Thread(task, "tck-jvm-" + number);
            reader.setDaemon(true);
            reader.start();
        }));
    }

    private void read(Process process) {
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            for (String next = out.readLine(); next != null; next = out.readLine()) {
                String line = next;
                // A JVM may say something of its own there, say in a thread dump.
                TestOutcome.fromLine(line).ifPresentOrElse(this::add, () -> System.err.println(line));
            }
        } catch (IOException e) {
            // It has ended, as the next line says.
        } finally {
            ended();
        }
    }

    private synchronized void add(TestOutcome outcome) {
        if (outcome.test()) {
            outcomes.put(outcome.id(), outcome);
        } else {
            failedClasses.add(outcome);
        }
        notifyAll();
    }

    private synchronized void ended() {
        running--;
        notifyAll();
    }

    /**
     * Waits until a test has ended, and ends as it did.
     *
     * @param test its unique id
     * @throws InterruptedException if interrupted
     */
    public void await(String test) throws InterruptedException {
        outcome(test).repeat();
    }

    private synchronized TestOutcome outcome(String test) throws InterruptedException {
        while (!outcomes.containsKey(test)) {
            if (running == 0) {
                throw new AssertionError("the JVM that took this test ended before it; see " + reports + "/jvm-*.log");
            }
            wait();
        }
        return outcomes.get(test);
    }

    /** Waits until all have ended, which they do when all tests have, and fails if something was wrong beside the tests. */
    @Override
    public void close() {
        Failures failures = new Failures();
        readers.forEach(CompletableFuture::join);
        processes.forEach(process -> process.onExit().join());
        processes.forEach(process -> failures.collect(() -> requireInOrder(process.exitValue())));
        synchronized (this) {
            failedClasses.forEach(failed -> failures.collect(failed::repeat));
        }
        failures.collect(this::tellSummary);
        failures.collect(() -> ProcessServer.delete(folder));
        failures.rethrow();
    }

    private void tellSummary() {
        Path text = reports.resolve("conformance.txt");
        try {
            if (isReported && Files.exists(text)) {
                System.out.println(Files.readAllLines(text).get(0));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void requireInOrder(int status) {
        if (status != 0) {
            throw new AssertionError("a JVM of the kit ended with " + status + "; see " + reports + "/jvm-*.log");
        }
    }
}
