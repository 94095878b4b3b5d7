package io.github.distributedsemaphore.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.testkit.engine.EventConditions.event;
import static org.junit.platform.testkit.engine.EventConditions.test;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.message;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.memory.MemorySemaphore;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.memory.ServerSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.EventConditions;
import org.junit.platform.testkit.engine.Events;
import org.opentest4j.TestAbortedException;

/** The kit itself fails where it must: on what tests leave behind, on hangs, and on claims that nobody shows. */
class KitTest {
    /** These tests are not about leases, and must not fail for a machine that is busy. */
    static ProbedServer patient(Set<Capability> capabilities) {
        return new ProbedServer(Duration.ofSeconds(4), capabilities);
    }

    static Events run(Class<?> section) {
        return run(section, Map.of("tck.report", "false"));
    }

    private static Events run(Class<?> section, Map<String, String> parameters) {
        return results(section, parameters).testEvents();
    }

    static EngineExecutionResults results(Class<?> section, Map<String, String> parameters) {
        return EngineTestKit.engine("junit-jupiter")
                .selectors(selectClass(section))
                .configurationParameter("tck.patience", "500ms")
                .configurationParameters(parameters)
                .execute();
    }

    static void assertFails(Class<?> section, Predicate<String> text) {
        run(section)
                .assertThatEvents()
                .haveExactly(1, event(test(), EventConditions.finishedWithFailure(message(text))));
    }

    static void assertAborts(Class<?> section, Predicate<String> text) {
        run(section).assertThatEvents().haveExactly(1, event(test(), EventConditions.abortedWithReason(message(text))));
    }

    /** A section over the backend in memory. */
    @Section
    abstract static class Case implements HarnessSource {
        @Override
        public SemaphoreTckHarness harness() {
            return new MemoryHarness(patient(MemoryServer.ALL));
        }
    }

    static class LeavesASemaphore extends Case {
        @Test
        @Rule("16.2")
        void leaves(TckFixture tck) {
            tck.home().admin().create(tck.uniqueName(), 1);
        }
    }

    @Test
    void aSemaphoreThatIsLeftFailsTheTest() {
        assertFails(LeavesASemaphore.class, text -> text.startsWith("semaphores are left after the test: [tck"));
    }

    static class LeavesAThread extends Case {
        private static final CountDownLatch END = new CountDownLatch(1);

        @Test
        @Rule("16.1")
        void leaves(TckFixture tck) {
            tck.home();
            startWaiting("left-behind", END);
        }
    }

    private static void startWaiting(String name, CountDownLatch end) {
        Runnable wait = () -> {
            try {
                end.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        };
        Thread thread = new Thread(wait, name);
        thread.setDaemon(true);
        thread.start();
    }

    @Test
    void aThreadThatIsLeftFailsTheTest() {
        try {
            assertFails(
                    LeavesAThread.class,
                    text -> text.startsWith(
                            "threads are left after the clients were closed: [\"left-behind\" WAITING\n    at "));
        } finally {
            LeavesAThread.END.countDown();
        }
    }

    static class DoesNotClose extends Case {
        private static final CountDownLatch END = new CountDownLatch(1);
        private static final AtomicBoolean STUCK = new AtomicBoolean();

        @Override
        public SemaphoreTckHarness harness() {
            return new MemoryHarness(patient(MemoryServer.ALL)) {
                @Override
                public SemaphoreClient connect(ClientSpec spec) {
                    SemaphoreClient client = super.connect(spec);
                    return STUCK.get() ? stuck(client) : client;
                }
            };
        }

        private static SemaphoreClient stuck(SemaphoreClient client) {
            return (SemaphoreClient) Proxy.newProxyInstance(
                    SemaphoreClient.class.getClassLoader(),
                    new Class<?>[] {SemaphoreClient.class},
                    (proxy, method, arguments) -> {
                        if (method.getName().equals("close")) {
                            END.await();
                        }
                        return method.invoke(client, arguments);
                    });
        }

        @Test
        @Rule("3.12")
        void makesAClient(TckFixture tck) {
            STUCK.set(true);
            SemaphoreClient unused = tck.client();
            STUCK.set(false);
        }
    }

    @Test
    void aClientThatDoesNotCloseFailsTheTestAndNotTheRun() {
        try {
            assertFails(DoesNotClose.class, text -> text.contains("close of a client after the test"));
        } finally {
            DoesNotClose.END.countDown();
        }
    }

    @TestMethodOrder(MethodOrderer.MethodName.class)
    static class LeavesAThreadAndFails extends Case {
        private static final CountDownLatch END = new CountDownLatch(1);

        @Test
        @Rule("16.1")
        void first(TckFixture tck) {
            tck.home();
            startWaiting("left-by-a-failure", END);
            throw new AssertionError("on purpose");
        }

        @Test
        @Rule("16.1")
        void second(TckFixture tck) {
            tck.home();
        }
    }

    @Test
    void whatAFailedTestLeavesFailsNoOther() {
        try {
            Events events = run(LeavesAThreadAndFails.class);
            assertThat(events.failed().count()).isEqualTo(1);
            assertThat(events.succeeded().count()).isEqualTo(1);
        } finally {
            LeavesAThreadAndFails.END.countDown();
        }
    }

    /** The second one replaces the thread that the first one left, and the third one adds one. */
    @TestMethodOrder(MethodOrderer.MethodName.class)
    static class ReplacesAThread extends Case {
        private static final CountDownLatch END_OF_FIRST = new CountDownLatch(1);
        private static final CountDownLatch END = new CountDownLatch(1);

        @Test
        @Rule("16.1")
        void first(TckFixture tck) {
            tck.home();
            startWaiting("of-a-connection", END_OF_FIRST);
            throw new AssertionError("on purpose");
        }

        @Test
        @Rule("16.1")
        void second(TckFixture tck) {
            tck.home();
            END_OF_FIRST.countDown();
            startWaiting("of-a-connection", END);
        }

        @Test
        @Rule("16.1")
        void third(TckFixture tck) {
            tck.home();
            startWaiting("of-a-connection", END);
        }
    }

    @Test
    void aThreadInPlaceOfOneThatEndedIsNotLeft() {
        try {
            Events events = run(ReplacesAThread.class);
            assertThat(events.failed().count()).isEqualTo(2);
            events.succeeded().assertThatEvents().haveExactly(1, event(test("second")));
        } finally {
            ReplacesAThread.END.countDown();
        }
    }

    static class LeavesAPool extends Case {
        private static final ExecutorService POOL = Executors.newCachedThreadPool();

        @Test
        @Rule("16.1")
        void leaves(TckFixture tck) throws Exception {
            tck.home();
            POOL.submit(() -> {}).get();
        }
    }

    static class LeavesAForkJoinPool extends Case {
        private static final ForkJoinPool POOL = new ForkJoinPool(1);

        @Test
        @Rule("16.1")
        void leaves(TckFixture tck) throws Exception {
            tck.home();
            POOL.submit(() -> {}).get();
        }
    }

    @Test
    void aForkJoinPoolThatIsLeftFailsTheTest() {
        try {
            assertFails(
                    LeavesAForkJoinPool.class,
                    text -> text.startsWith("threads are left after the clients were closed: [\"ForkJoinPool-"));
        } finally {
            LeavesAForkJoinPool.POOL.shutdown();
        }
    }

    /** One that ends by itself soon is of a client that stays open, perhaps. */
    @Test
    void aPoolThatIsLeftFailsTheRun() {
        try {
            results(LeavesAPool.class, Map.of("tck.report", "false"))
                    .containerEvents()
                    .assertThatEvents()
                    .haveExactly(
                            1,
                            event(EventConditions.finishedWithFailure(message(
                                    text -> text.startsWith("threads are left after the last test: [\"pool-")))));
        } finally {
            LeavesAPool.POOL.shutdown();
        }
    }

    static class LeavesThings extends Case {
        private static final Set<String> THINGS = ConcurrentHashMap.newKeySet();

        @Override
        public SemaphoreTckHarness harness() {
            THINGS.clear();
            return new MemoryHarness(patient(MemoryServer.ALL)) {
                @Override
                public Leftovers leftovers() {
                    return Leftovers.of(THINGS);
                }
            };
        }

        @Test
        @Rule("16.2")
        void leaves(TckFixture tck) {
            tck.home();
            THINGS.add("key-1");
        }

        @Test
        @Rule("16.3")
        void leavesTheSame(TckFixture tck) {
            tck.home();
            THINGS.add("key-1");
        }
    }

    @Test
    void whatIsLeftAtTheBackendFailsOneTestOnly() {
        Events events = run(LeavesThings.class);
        assertThat(events.failed().count()).isEqualTo(1);
        assertThat(events.succeeded().count()).isEqualTo(1);
        events.assertThatEvents()
                .haveExactly(
                        1,
                        event(EventConditions.finishedWithFailure(
                                message("things are left at the backend after the test: [key-1]"))));
    }

    static class LeavesThingsOfTheDead extends Case {
        private static final Set<String> THINGS = ConcurrentHashMap.newKeySet();
        private static volatile long goneNanos;

        @Override
        public SemaphoreTckHarness harness() {
            THINGS.clear();
            ProbedServer slow = new ProbedServer(Duration.ofMillis(5_100), MemoryServer.ALL);
            return new MemoryHarness(slow) {
                @Override
                public Leftovers leftovers() {
                    if (System.nanoTime() - goneNanos > 0) {
                        THINGS.remove("key-2");
                    }
                    return Leftovers.of(THINGS);
                }
            };
        }

        @Test
        @Rule("16.4")
        void leavesForGood(TckFixture tck) {
            tck.home();
            THINGS.add("key-1");
        }

        @Test
        @Rule("16.4")
        void leavesForAWhile(TckFixture tck) {
            tck.home();
            goneNanos = System.nanoTime() + Duration.ofSeconds(1).toNanos();
            THINGS.add("key-2");
        }
    }

    @Test
    void whatTheDeadLeaveIsLookedForAtTheEndIfDetectionIsSlow() {
        EngineExecutionResults results = results(LeavesThingsOfTheDead.class, Map.of("tck.report", "false"));
        assertThat(results.testEvents().succeeded().count()).isEqualTo(2);
        results.containerEvents()
                .assertThatEvents()
                .haveExactly(
                        1,
                        event(EventConditions.finishedWithFailure(message(
                                text -> text.startsWith("things are left at the backend by an earlier test, after the"
                                        + " detection time: [key-1]")))));
    }

    static class OverlooksAFailure extends Case {
        @Test
        @Rule("1.1")
        void overlooks(TckFixture tck) {
            tck.spawn("doomed", () -> {
                throw new IllegalStateException("boom");
            });
        }
    }

    @Test
    void aFailureOfATaskThatNobodyAskedForFailsTheTest() {
        assertFails(
                OverlooksAFailure.class,
                text -> text.startsWith("task 'doomed' failed and nobody asked for it") && text.contains("boom"));
    }

    static class AbortsAndLeaves extends Case {
        @Test
        @Rule("1.1")
        void abortsAndLeaves(TckFixture tck) {
            tck.spawn("that aborts", () -> {
                throw new TestAbortedException("the machine stood still");
            });
            tck.home().admin().create(tck.uniqueName(), 1);
        }
    }

    @Test
    void aTaskThatAbortsHidesNoFailure() {
        assertFails(AbortsAndLeaves.class, text -> text.startsWith("semaphores are left after the test: [tck"));
    }

    static class Hangs extends Case {
        @Test
        @Rule("1.1")
        void hangs(TckFixture tck) {
            tck.spawn("sleeper", () -> new CountDownLatch(1).await());
        }
    }

    @Test
    void aTaskThatHangsFailsTheTestWithADumpOfTheThreads() {
        assertFails(
                Hangs.class,
                text -> text.startsWith("task 'sleeper' has not ended within PT0.5S")
                        && text.contains("\"tck-task sleeper\" WAITING")
                        && text.contains("CountDownLatch.await"));
    }

    static class CannotConnect extends Case {
        private static volatile boolean closed;

        @Override
        public SemaphoreTckHarness harness() {
            return new MemoryHarness(patient(MemoryServer.ALL)) {
                @Override
                public SemaphoreClient connect(ClientSpec spec) {
                    throw new BackendAccessException("the password is wrong", null);
                }

                @Override
                public void close() {
                    closed = true;
                    super.close();
                }
            };
        }

        @Test
        @Rule("1.1")
        void one(TckFixture tck) {
            tck.home();
        }

        @Test
        @Rule("1.2")
        void another(TckFixture tck) {
            tck.home();
        }
    }

    @Test
    void aHarnessThatCannotConnectFailsOnceAndSaysWhy() {
        Events events = run(CannotConnect.class);
        events.assertThatEvents()
                .haveExactly(1, event(test(), EventConditions.finishedWithFailure(message("the password is wrong"))))
                .haveExactly(
                        1,
                        event(
                                test(),
                                EventConditions.abortedWithReason(
                                        message(text -> text.startsWith("the kit could not start")
                                                && text.endsWith("the password is wrong")))));
        assertThat(CannotConnect.closed).isTrue();
    }

    static class ComesTooLateAtFirst extends Case {
        @Override
        public SemaphoreTckHarness harness() {
            AtomicBoolean late = new AtomicBoolean(true);
            return new MemoryHarness(new ProbedServer(Duration.ofMinutes(1), MemoryServer.ALL) {
                @Override
                protected ExchangeResult exchange(ServerSession session, long sequence, ExchangeRequest request) {
                    if (late.getAndSet(false)) {
                        throw new BackendUnavailableException("granted too late", null);
                    }
                    return super.exchange(session, sequence, request);
                }
            });
        }

        @Test
        @Rule("1.1")
        void one(TckFixture tck) {
            tck.take(tck.semaphore(1), 1);
        }
    }

    @Test
    void aFirstUseThatMayBeRepeatedIsRepeated() {
        run(ComesTooLateAtFirst.class)
                .assertThatEvents()
                .haveExactly(1, event(test(), EventConditions.finishedSuccessfully()));
    }

    static class IsWrong extends Case {
        @Test
        @Rule({"1.1", "1.2"})
        void wrong(TckFixture tck) {
            assertThat(tck.semaphore(1).tryAcquire()).isEmpty();
        }
    }

    @Test
    void aFailureNamesItsRulesInItsFirstLine() {
        assertFails(IsWrong.class, text -> text.startsWith("[1.1, 1.2] Expecting an empty Optional"));
    }

    static class IsHeld extends Case {
        @Test
        @Rule("1.1")
        void held(TckFixture tck) {
            DistributedSemaphore semaphore = tck.semaphore(3);
            tck.take(semaphore, 2);
            assertThatThrownBy(() -> semaphore.acquire(4));
            tck.take(semaphore, 2);
        }
    }

    @Test
    void aFailureSaysWhatIsPromisedWhoHoldsWhatAndHowToRepeatIt() {
        String process = "', process " + ProcessHandle.current().pid() + " on ";
        assertFails(
                IsHeld.class,
                text -> text.contains("\n  promised: With nobody else around")
                        && text.contains("has limit 3 and 0 free: slot 1 (epoch ")
                        && text.contains(process)
                        && text.contains("\n  last exception of a call: acquire threw ")
                        && text.contains("\n  repeat with: -Dtck.seed="));
    }

    static class NeedsAgents extends Case {
        @Test
        @Rule("1.3")
        void needs(TckFixture tck) {
            tck.agent();
        }
    }

    @Test
    void aMissingHookAbortsWithTheReason() {
        assertAborts(NeedsAgents.class, "the harness has no AgentLauncher"::equals);
    }

    static class ClaimsProcesses extends NeedsAgents {
        @Override
        public SemaphoreTckHarness harness() {
            return new MemoryHarness(patient(EnumSet.allOf(Capability.class)));
        }
    }

    @Test
    void aClaimWithoutItsHookFails() {
        assertFails(
                ClaimsProcesses.class,
                text -> text.startsWith(
                        "[1.3] CROSS_PROCESS is claimed but cannot be shown: the harness has no AgentLauncher\n"));
    }

    static class AdmitsProcesses extends NeedsAgents {
        @Override
        public SemaphoreTckHarness harness() {
            return new MemoryHarness(patient(EnumSet.allOf(Capability.class))) {
                @Override
                public Map<String, String> unproven() {
                    return Map.of("1.3", "one process only");
                }
            };
        }
    }

    @Test
    void anAdmittedClaimAborts() {
        assertAborts(AdmitsProcesses.class, text -> text.endsWith("is declared and unproven: one process only"));
    }

    @Test
    void theReportTellsWhatRanAndWhatDidNot(@TempDir Path folder) throws IOException {
        run(AdmitsProcesses.class, Map.of("tck.reports", folder.toString(), "tck.seed", "42"));
        Path report = folder.resolve("AdmitsProcesses");
        String text = Files.readString(report.resolve("conformance.txt"));
        assertThat(text)
                .containsPattern("AdmitsProcesses over memory, rules: \\d+ untested")
                .contains("unproven 1.3: one process only")
                .containsPattern("kit \\d+\\.\\d+")
                .contains("untouched Permit.fence()");
        assertThat(Files.readString(report.resolve("conformance.html"))).contains("seed <b>42</b>", "id=\"r1.3\"");
        JsonObject json = JsonParser.parseString(Files.readString(report.resolve("conformance.json")))
                .getAsJsonObject();
        assertThat(json.get("backend").getAsString()).isEqualTo("memory");
        assertThat(json.getAsJsonObject("run").get("seed").getAsString()).isEqualTo("42");
        assertThat(json.getAsJsonArray("rules")).hasSize(127);
        assertThat(json.getAsJsonArray("rules")
                        .get(2)
                        .getAsJsonObject()
                        .get("state")
                        .getAsString())
                .isEqualTo("untested");
    }

    @Test
    void aRunThatCannotStartLeavesNoReportOfTheRunBefore(@TempDir Path folder) throws IOException {
        Path reports = Files.createDirectories(folder.resolve("CannotConnect"));
        Path before = Files.writeString(reports.resolve("conformance.txt"), "all rules passed");

        run(CannotConnect.class, Map.of("tck.reports", folder.toString(), "tck.report", "false"));
        assertThat(before).as("the report, after a run that makes none").exists();
        run(CannotConnect.class, Map.of("tck.reports", folder.toString()));
        assertThat(before).doesNotExist();
    }

    /** What is released is not free before the lease of its client ends, two seconds later. */
    static class Leaks extends Case {
        @Override
        public SemaphoreTckHarness harness() {
            return new MemoryHarness(new ProbedServer(Duration.ofSeconds(2), MemoryServer.ALL) {
                @Override
                protected MemorySemaphore newSemaphore() {
                    return new MemorySemaphore() {
                        @Override
                        protected boolean giveBack(ServerSession session, Hold hold) {
                            return isHeld(session, hold);
                        }
                    };
                }
            });
        }

        @Test
        @Rule("10.2")
        void leaks(TckFixture tck) {
            String name = tck.create(1);
            tck.take(tck.home().semaphore(name), 1).get(0).release();
            tck.assertFree(name, 1);
        }
    }

    @Test
    void whatOnlyTheEndOfALeaseFreesIsALostPermit() {
        Map<String, String> patiently = Map.of("tck.report", "false", "tck.patience", "20s");
        run(Leaks.class, patiently)
                .assertThatEvents()
                .haveExactly(
                        1,
                        event(
                                test(),
                                EventConditions.finishedWithFailure(
                                        message(text -> text.startsWith("[10.2] lost permits: only 0 of 1")))));
    }
}
