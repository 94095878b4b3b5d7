package io.github.distributedsemaphore.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.testkit.engine.EventConditions.container;
import static org.junit.platform.testkit.engine.EventConditions.event;
import static org.junit.platform.testkit.engine.EventConditions.finishedWithFailure;
import static org.junit.platform.testkit.engine.EventConditions.test;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.message;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.assertj.core.api.Condition;
import org.junit.jupiter.api.Test;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;
import org.junit.platform.testkit.engine.Events;

/** The extension on the Jupiter of this build, and on the oldest that it supports. */
class SemaphoreExtensionTest {
    @Test
    void worksOnTheJupiterOfThisBuild() {
        EngineExecutionResults results = EngineTestKit.engine("junit-jupiter")
                .selectors(selectClass(ExtensionCases.class))
                .execute();
        Events events = results.testEvents();
        assertThat(events.succeeded().count()).isEqualTo(5);
        events.assertThatEvents()
                .haveExactly(
                        1,
                        event(
                                test("leavesAPermit"),
                                finishedWithFailure(message(text -> text.startsWith("Permits are held")))))
                .haveExactly(
                        1,
                        event(
                                test("keepsOneOfItsConstructor"),
                                finishedWithFailure(message(text -> text.startsWith("Permits are held")))))
                .haveExactly(1, event(test("failsByItself"), finishedWithFailure(message("its own failure"))));
        results.containerEvents()
                .assertThatEvents()
                .haveExactly(1, event(container("HasOneInstance"), isRefused()))
                .haveExactly(1, event(container("WantsThemBeforeAllTests"), isRefused()));
    }

    private static Condition<Event> isRefused() {
        return finishedWithFailure(message(text -> text.contains("belongs to one test")));
    }

    @Test
    void worksOnTheOldestJupiter() throws Exception {
        Process run = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        "target/oldest-junit/junit.jar" + File.pathSeparator + classPathWithoutJUnit(),
                        "org.junit.platform.console.ConsoleLauncher",
                        "execute",
                        "--disable-banner",
                        "--disable-ansi-colors",
                        "--details=flat",
                        "--select-class=" + ExtensionCases.class.getName())
                .redirectErrorStream(true)
                .start();
        String output = outputOf(run);
        assertThat(run.waitFor()).as(output).isEqualTo(1);
        assertThat(output)
                .contains("5 tests successful", "3 tests failed", "Permits are held", "its own failure")
                .contains("2 containers failed", "belongs to one test")
                // Platform 1.12 is that of Jupiter 5.12, and the jar of both says so.
                .contains("jupiter = '1.12.");
    }

    private static String outputOf(Process run) throws IOException {
        run.getOutputStream().close();
        return new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    private static String classPathWithoutJUnit() {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry ->
                        !entry.contains("junit") && !entry.contains("surefire") && !entry.contains("opentest4j"))
                .collect(Collectors.joining(File.pathSeparator));
    }
}
