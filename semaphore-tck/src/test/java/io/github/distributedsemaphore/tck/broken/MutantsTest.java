package io.github.distributedsemaphore.tck.broken;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.rulebook.RuleBook;
import io.github.distributedsemaphore.tck.rules.ReleaseRules;
import io.github.distributedsemaphore.tck.storms.FaultHistoryRules;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;

/** Each wrong implementation is found out by the rule that it breaks, and that rule says what is wrong. */
class MutantsTest {
    /** A machine that stalls for longer than a lease makes another failure of it, or none where a rule does not judge then: so it is tried again. */
    private static final int ATTEMPTS = 6;

    private static final int PARALLEL = 6;

    /** Of twenty seeds nineteen have to do. */
    private static final double LEAST_SHARE = 0.95;

    /** Rules of other kinds whose tests depend on how threads meet, or on random choices, all the same. */
    private static final Set<String> BY_CHANCE = Set.of("1.4", "1.5", "2.8", "2.9", "4.2", "7.1", "8.3", "8.8", "11.1");

    /**
     * Tested rules without a mutant, and why. They are tried in the tests of {@code local:}, but for 14.2, which found its wrong
     * implementation now and then only.
     */
    private static final Map<String, String> WITHOUT = Map.of(
            "1.3", "holders in several processes",
            "2.2", "a process is killed",
            "2.10", "processes are killed one after the other",
            "8.10", "an administrator's process is killed half-way",
            "9.2", "the process of a holder that is shown is killed",
            "14.1", "the process of a holder is stopped",
            "14.2", "the process of a waiter is stopped",
            "16.4", "what a killed process left",
            "16.6", "planted in the real engine, over Redis");

    private static final Map<String, String> TABLE = Collections.synchronizedMap(new TreeMap<>());

    private static Stream<Mutant> mutants() {
        return Stream.<Mutant[]>of(
                        StoredMutant.values(),
                        HoldMutant.values(),
                        WaitMutant.values(),
                        HygieneMutant.values(),
                        ServedMutant.values(),
                        AdministrationMutant.values(),
                        SpiMutant.values(),
                        PortMutant.values(),
                        AccessMutant.values(),
                        LinkMutant.values(),
                        ServerMutant.values(),
                        OutageMutant.values())
                .flatMap(Arrays::stream);
    }

    /** Most of their time these wait for time-outs, so several of them wait at once. */
    @TestFactory
    Stream<DynamicTest> everyMutantIsKilledByTheRuleItBreaks() {
        // -Dtck.mutants=NAME, a regular expression, looks at some of them only.
        String chosen = System.getProperty("tck.mutants", ".*");
        ExecutorService executor = Executors.newFixedThreadPool(PARALLEL, MutantsTest::apart);
        Map<Mutant, Future<List<Throwable>>> runs = new LinkedHashMap<>();
        mutants()
                .filter(mutant -> mutant.toString().matches(chosen) && mutant.canBeMade())
                .forEach(mutant -> runs.put(mutant, executor.submit(() -> failures(run(mutant)))));
        executor.shutdown();
        return runs.entrySet().stream()
                .map(run -> DynamicTest.dynamicTest(
                        run.getKey() + " breaks " + run.getKey().recipe().rule(),
                        () -> assertKilled(run.getKey(), run.getValue())));
    }

    /**
     * -Dtck.mutants.seeds=20 runs those whose discovery is a matter of chance with so many seeds, each once: a rule that finds
     * them only now and then is too weak. Takes some minutes.
     */
    @TestFactory
    Stream<DynamicTest> stochasticMutantsAreKilledWithNearlyEverySeed() {
        int seeds = Integer.getInteger("tck.mutants.seeds", 0);
        String chosen = System.getProperty("tck.mutants", ".*");
        Map<String, RuleBook.Entry> rules = RuleBook.load().rules();
        ExecutorService executor = Executors.newFixedThreadPool(PARALLEL, MutantsTest::apart);
        Map<Mutant, List<Future<String>>> runs = new LinkedHashMap<>();
        mutants()
                .filter(mutant -> seeds > 0 && mutant.toString().matches(chosen) && mutant.canBeMade())
                .filter(mutant -> isByChance(rules.get(mutant.recipe().rule())))
                .forEach(mutant -> runs.put(
                        mutant,
                        LongStream.rangeClosed(1, seeds)
                                .mapToObj(seed -> executor.submit(() -> fate(mutant, seed)))
                                .toList()));
        executor.shutdown();
        return runs.entrySet().stream()
                .map(run -> DynamicTest.dynamicTest(
                        run.getKey() + " breaks " + run.getKey().recipe().rule() + " with " + seeds + " seeds",
                        () -> assertNearlyAlwaysKilled(run.getKey(), run.getValue())));
    }

    private static boolean isByChance(RuleBook.Entry rule) {
        return rule.kind() == RuleBook.Kind.STOCHASTIC || BY_CHANCE.contains(rule.id());
    }

    /** Returns what was said of it instead of what had to be; empty if it was killed. */
    private static String fate(Mutant mutant, long seed) throws ReflectiveOperationException {
        // Patience for a busy machine: some rules are at work for as long as the short one is.
        Map<String, String> parameters =
                Map.of("tck.seed", Long.toString(seed), "tck.patience", "4s", "tck.history", "4s");
        List<Throwable> failures = failures(run(mutant, parameters));
        return isKilled(mutant, failures) ? "" : "seed " + seed + ": " + failures;
    }

    private static void assertNearlyAlwaysKilled(Mutant mutant, List<Future<String>> runs) throws Exception {
        List<String> survived = new ArrayList<>();
        for (Future<String> run : runs) {
            String fate = run.get(1, TimeUnit.HOURS);
            if (!fate.isEmpty()) {
                survived.add(fate);
            }
        }
        TABLE.put(
                String.format("%-4s %-40s with ", mutant.recipe().rule(), mutant.name()),
                (runs.size() - survived.size()) + " of " + runs.size() + " seeds");
        assertThat(survived)
                .as("how %s survived rule %s", mutant, mutant.recipe().rule())
                .hasSizeLessThanOrEqualTo((int) Math.round(runs.size() * (1 - LEAST_SHARE)));
    }

    /** In a thread group of its own, so that its run is not blamed for the threads of the others. */
    private static Thread apart(Runnable body) {
        return new Thread(new ThreadGroup("tck-mutant"), body, "tck-mutant");
    }

    private static void assertKilled(Mutant mutant, Future<List<Throwable>> first) throws Exception {
        String line = String.format("%-4s %-40s ", mutant.recipe().rule(), mutant.name());
        TABLE.put(line, "NOT KILLED");
        List<Throwable> failures = first.get(2, TimeUnit.MINUTES);
        int attempt = 1;
        for (; attempt < ATTEMPTS && !isKilled(mutant, failures); attempt++) {
            FutureTask<List<Throwable>> again = new FutureTask<>(() -> failures(run(mutant)));
            apart(again).start();
            failures = again.get(2, TimeUnit.MINUTES);
        }
        assertThat(failures)
                .as("what rule %s says of %s", mutant.recipe().rule(), mutant)
                .isNotEmpty()
                .allMatch(AssertionError.class::isInstance)
                .anyMatch(failure -> says(failure, mutant.recipe().message()));
        TABLE.put(
                line,
                "killed" + (attempt == 1 ? "" : " at attempt " + attempt) + ": ... "
                        + mutant.recipe().message() + " ...");
    }

    private static boolean isKilled(Mutant mutant, List<Throwable> failures) {
        return !failures.isEmpty()
                && failures.stream().allMatch(AssertionError.class::isInstance)
                && failures.stream()
                        .anyMatch(failure -> says(failure, mutant.recipe().message()));
    }

    /** What kills a mutant is what is wrong with it, not that something was put around it. */
    @Test
    void whatIsPutAroundAndChangesNothingBreaksNothing() {
        for (Supplier<SemaphoreTckHarness> harness : List.of(
                Variants.port(Duration.ofSeconds(1), server -> Bent.Call::proceed),
                Variants.spi(Duration.ofSeconds(1), Bent.Call::proceed))) {
            Sections.HARNESS.set(harness);
            EngineExecutionResults results =
                    execute(List.of(selectClass(Sections.runnable(ReleaseRules.class))), Map.of());
            assertThat(failures(results)).isEmpty();
            assertThat(results.testEvents().succeeded().count()).isPositive();
        }
    }

    /** On some backends another change may keep a resize from its end. That is no fault of the backend. */
    @Test
    void resizesThatFailNowAndThenBreakNothing() {
        AtomicInteger resizes = new AtomicInteger();
        Sections.HARNESS.set(Variants.served(() -> new ProbedServer(Variants.LONG, MemoryServer.ALL) {
            @Override
            protected void resize(String name, int limit) {
                switch (resizes.incrementAndGet() % 3) {
                    case 0 -> throw new BackendUnavailableException("others changed it all the time", null);
                    case 1 -> throw new OutcomeUnknownException("broken off", null);
                    default -> super.resize(name, limit);
                }
            }
        }));
        EngineExecutionResults results = execute(
                List.of(selectClass(Sections.runnable(FaultHistoryRules.class))),
                Map.of("tck.shapes", "RESIZED", "tck.history", "2s"));
        assertThat(failures(results)).isEmpty();
        assertThat(results.testEvents().succeeded().count()).isPositive();
        assertThat(resizes).hasValueGreaterThan(3);
    }

    /** A person who opens the page sees what the check has found. */
    @Test
    void thePageOfARunShowsWhereTwoHoldOneSlot() throws Exception {
        Map<String, String> reported = Map.of("tck.report", "true", "tck.reports", "target/tck");
        FutureTask<List<Throwable>> run =
                new FutureTask<>(() -> failures(run(ServerMutant.A_KILLED_SERVER_GRANTS_TWICE, reported)));
        apart(run).start();

        assertThat(run.get(2, TimeUnit.MINUTES)).isNotEmpty();
        assertThat(Files.readString(Path.of("target", "tck", "FaultHistory", "conformance.html")))
                .contains("1 rule is broken: 1.12", "<figure id=\"window-1\" class=\"broken\">", "rule 1.2 broken")
                .contains("<rect class=\"overlap\" x=", ">OVERLAP for ", "<rect class=\"strike\" x=");
    }

    private static EngineExecutionResults run(Mutant mutant) throws ReflectiveOperationException {
        return run(mutant, Map.of());
    }

    private static EngineExecutionResults run(Mutant mutant, Map<String, String> parameters)
            throws ReflectiveOperationException {
        Class<?> section = Sections.runnable(mutant.recipe().section());
        Sections.HARNESS.set(mutant.recipe().harness());
        List<DiscoverySelector> tests = new ArrayList<>();
        for (Method method : mutant.recipe().section().getDeclaredMethods()) {
            Rule rule = method.getAnnotation(Rule.class);
            if (rule != null && List.of(rule.value()).contains(mutant.recipe().rule())) {
                tests.add(selectMethod(section, method));
            }
        }
        assertThat(tests)
                .as(
                        "tests of rule %s in %s",
                        mutant.recipe().rule(), mutant.recipe().section())
                .isNotEmpty();
        return execute(tests, parameters);
    }

    private static EngineExecutionResults execute(List<DiscoverySelector> tests, Map<String, String> parameters) {
        return EngineTestKit.engine("junit-jupiter")
                .configurationParameter("tck.report", "false")
                .configurationParameter("tck.patience", "1500ms")
                .configurationParameter("tck.shapes", "SERVER_KILLED")
                .configurationParameter("junit.jupiter.execution.timeout.default", "20 s")
                .configurationParameters(parameters)
                .selectors(tests.toArray(DiscoverySelector[]::new))
                .execute();
    }

    private static List<Throwable> failures(EngineExecutionResults results) {
        return results.testEvents().failed().stream()
                .map(event -> event.getRequiredPayload(TestExecutionResult.class))
                .flatMap(result -> result.getThrowable().stream())
                .toList();
    }

    private static boolean says(Throwable failure, String message) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String said = String.valueOf(cause.getMessage());
            if (Arrays.stream(message.split("\\|")).anyMatch(said::contains)) {
                return true;
            }
        }
        return false;
    }

    @Test
    void thereAreEnoughOfThemAndEachSectionRuns() {
        assertThat(mutants()).hasSizeGreaterThanOrEqualTo(100);
        assertThat(mutants().map(mutant -> mutant.recipe().section()).map(Sections::runnable))
                .allMatch(HarnessSource.class::isAssignableFrom);
    }

    @Test
    void everyTestedRuleHasAMutantOrAReasonNotTo() {
        Set<String> broken = mutants().map(mutant -> mutant.recipe().rule()).collect(Collectors.toSet());
        assertThat(WITHOUT.keySet())
                .as("rules that have a mutant now: take them out of WITHOUT")
                .doesNotContainAnyElementsOf(broken);
        assertThat(RuleBook.load().rules().values().stream()
                        .filter(rule -> rule.untested().isEmpty() && rule.kind() != RuleBook.Kind.UNTESTABLE)
                        .map(RuleBook.Entry::id)
                        .filter(rule -> !broken.contains(rule)))
                .as("tested rules without a mutant: their tests were never seen to fail")
                .containsExactlyInAnyOrderElementsOf(WITHOUT.keySet());
    }

    @AfterAll
    static void printTable() {
        StringBuilder text = new StringBuilder("\nMutants, the rule that each breaks, and what became of it\n");
        TABLE.forEach((mutant, fate) -> text.append(mutant).append(fate).append('\n'));
        System.out.println(text);
    }
}
