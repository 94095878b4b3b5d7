package io.github.distributedsemaphore.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.opentest4j.TestAbortedException;

/** The sections of a test class run in several JVMs, and come out here as if they had run in this one. */
class SideBySideTest {
    /** Where tests in other JVMs leave their process ids. */
    private static final String PIDS = "side-by-side.pids";

    @TempDir
    private Path folder;

    /** The kit itself finds JUnit's plan through a service, as under Maven. */
    private Map<String, TestExecutionResult> run(Class<?> testClass) {
        Map<String, TestExecutionResult> ended = new TreeMap<>();
        System.setProperty(PIDS, folder.toString());
        LauncherFactory.create()
                .execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(selectClass(testClass))
                                .configurationParameter("tck.reports", folder.toString())
                                .configurationParameter("tck.seed", "42")
                                .configurationParameter("tck.patience", "500ms")
                                .build(),
                        new TestExecutionListener() {
                            @Override
                            public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                                ended.put(test.getDisplayName().replaceAll("\\(.*", ""), result);
                            }
                        });
        return ended;
    }

    private static String message(TestExecutionResult result) {
        return result.getThrowable().orElseThrow().getMessage();
    }

    /** Three sections for two JVMs. */
    static class Divided extends KitTest.Case {
        @Override
        public SemaphoreTckHarness harness() {
            return new MemoryHarness(KitTest.patient(MemoryServer.ALL));
        }

        @Override
        public int jvms() {
            return 2;
        }

        static void leavePid(String section) throws IOException {
            Files.createFile(Path.of(System.getProperty(PIDS))
                    .resolve(section + "." + ProcessHandle.current().pid()));
        }

        @Nested
        class First extends KitTest.Case {
            @Test
            @Rule("1.1")
            void passes(TckFixture tck) throws IOException {
                assertThat(tck.semaphore(1).tryAcquire().orElseThrow().slot()).isPositive();
                leavePid("First");
            }
        }

        @Nested
        class Second extends KitTest.Case {
            @Test
            @Rule("1.2")
            void fails(TckFixture tck) throws IOException {
                leavePid("Second");
                assertThat(tck.semaphore(1).tryAcquire().orElseThrow().isValid())
                        .isTrue();
                assertThat(1).as("a number").isEqualTo(2);
            }
        }

        @Nested
        class Third extends KitTest.Case {
            @Test
            @Rule("1.3")
            void aborts(TckFixture tck) throws IOException {
                // As the JVM itself may, in a dump of its threads, where the outcomes are expected.
                new FileOutputStream(FileDescriptor.out).write("no outcome\n\n".getBytes(StandardCharsets.US_ASCII));
                leavePid("Third");
                tck.home();
                throw new TestAbortedException("not for this backend");
            }
        }
    }

    @Test
    void eachSectionRunsOnceInOneOfSeveralJvmsAndComesOutHere() throws IOException {
        Map<String, TestExecutionResult> ended = run(Divided.class);

        assertThat(ended.get("1.1 passes").getStatus()).isEqualTo(TestExecutionResult.Status.SUCCESSFUL);
        assertThat(message(ended.get("1.2 fails")))
                .startsWith("[1.2] [a number]")
                .contains("tck.seed=42");
        assertThat(ended.get("1.2 fails").getThrowable().orElseThrow().getCause())
                .hasMessageContaining("SideBySideTest.java");
        assertThat(ended.get("1.3 aborts").getStatus()).isEqualTo(TestExecutionResult.Status.ABORTED);
        assertThat(message(ended.get("1.3 aborts"))).isEqualTo("not for this backend");
        List<String> pids = filesWith("(First|Second|Third)\\.\\d+");
        assertThat(pids.stream().map(file -> file.replaceAll("\\..*", ""))).containsExactly("First", "Second", "Third");
        assertThat(pids.stream().map(file -> file.replaceAll(".*\\.", "")).distinct())
                .hasSize(2)
                .doesNotContain(Long.toString(ProcessHandle.current().pid()));
    }

    @Test
    void theReportIsOneForAll() throws IOException {
        run(Divided.class);

        Path report = folder.resolve("Divided");
        JsonObject json = JsonParser.parseString(Files.readString(report.resolve("conformance.json")))
                .getAsJsonObject();
        Map<String, String> states = new TreeMap<>();
        for (JsonElement rule : json.getAsJsonArray("rules")) {
            JsonObject verdict = rule.getAsJsonObject();
            states.put(verdict.get("rule").getAsString(), verdict.get("state").getAsString());
        }
        assertThat(states)
                .containsEntry("1.1", "passed")
                .containsEntry("1.2", "failed")
                .containsEntry("1.3", "aborted");
        assertThat(Set.copyOf(states.values())).contains("not run");
        // One was called in the first section, the other in the second, and they may have run in two JVMs.
        assertThat(Files.readString(report.resolve("conformance.txt")))
                .doesNotContain("untouched Permit.slot()", "untouched Permit.isValid()")
                .contains("untouched PermitGroup.release()");
    }

    private List<String> filesWith(String name) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(file -> file.matches(name))
                    .sorted()
                    .toList();
        }
    }

    /** One section of two passes. */
    abstract static class HalfAlive extends KitTest.Case {
        @Override
        public int jvms() {
            return 2;
        }

        @Nested
        class Alive extends KitTest.Case {
            @Test
            @Rule("1.2")
            void lives(TckFixture tck) {
                tck.home();
            }
        }
    }

    /** One of its JVMs ends before its test does. */
    static class Dying extends HalfAlive {
        @Nested
        class Dead extends KitTest.Case {
            @Test
            @Rule("1.1")
            void dies(TckFixture tck) {
                tck.home();
                Runtime.getRuntime().halt(7);
            }
        }
    }

    @Test
    void aJvmThatEndsTooEarlyFailsItsTestsAndTheClass() {
        Map<String, TestExecutionResult> ended = run(Dying.class);

        assertThat(ended.get("1.2 lives").getStatus()).isEqualTo(TestExecutionResult.Status.SUCCESSFUL);
        assertThat(message(ended.get("1.1 dies"))).startsWith("the JVM that took this test ended before it");
        assertThat(message(ended.get("SideBySideTest$Dying"))).startsWith("a JVM of the kit ended with 7");
    }

    /** A call that does not return, and that an interrupt does not end. */
    static class Hanging extends HalfAlive {
        @Nested
        class Deaf extends KitTest.Case {
            @Test
            @Rule("1.1")
            @Timeout(value = 100, unit = TimeUnit.MILLISECONDS)
            void waitsForEver(TckFixture tck) {
                tck.home();
                while (true) {
                    LockSupport.park();
                    boolean unused = Thread.interrupted();
                }
            }
        }
    }

    @Test
    void aTestThatItsTimeoutDoesNotEndFails() {
        Map<String, TestExecutionResult> ended = run(Hanging.class);

        assertThat(ended.get("1.2 lives").getStatus()).isEqualTo(TestExecutionResult.Status.SUCCESSFUL);
        assertThat(message(ended.get("1.1 waits for ever")))
                .startsWith("the test has not ended PT0.5S after its time-out");
        assertThat(ended.get("1.1 waits for ever").getThrowable().orElseThrow().getCause())
                .hasMessageContaining("SideBySideTest$Hanging$Deaf.waitsForEver");
        assertThat(message(ended.get("SideBySideTest$Hanging"))).startsWith("a JVM of the kit ended with 3");
    }

    /** It would say of rules that did not run that they passed. */
    @Test
    void aRunThatDoesNotComeToItsEndLeavesNoReportOfTheRunBefore() throws IOException {
        Path reports = Files.createDirectories(folder.resolve("Hanging"));
        for (String ending : List.of("json", "txt", "html")) {
            Files.writeString(reports.resolve("conformance." + ending), "of the run before");
        }

        run(Hanging.class);

        assertThat(reports).isDirectoryNotContaining("glob:**conformance.*");
    }
}
