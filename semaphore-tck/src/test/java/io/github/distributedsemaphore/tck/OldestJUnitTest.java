package io.github.distributedsemaphore.tck;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.tck.harness.AgentLauncher;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The kit, compiled with JUnit 6, runs on JUnit 5.12 too, which Spring Boot 3.5 manages. */
class OldestJUnitTest {
    /** All of JUnit in one jar. No other JUnit is on the class path of the run. */
    private static final Path JUNIT = Path.of("target", "oldest-junit", "junit.jar");

    @Test
    @Timeout(value = 10, unit = TimeUnit.MINUTES) // a part of the kit, in which each test has a time-out of its own
    void theKitRunsOnJUnit512(@TempDir Path folder) throws IOException, InterruptedException {
        Process run = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Dtck.reports=" + folder,
                        "-cp",
                        JUNIT + ":" + classPathWithoutJUnit(),
                        "org.junit.platform.console.ConsoleLauncher",
                        "execute",
                        "--disable-banner",
                        "--disable-ansi-colors",
                        "--details=flat",
                        "--select-class=" + MemoryUriTckTest.class.getName(),
                        "--select-class=" + SideBySideTest.class.getName(),
                        "--include-tag=safety | verification | history | none()")
                .redirectErrorStream(true)
                .start();
        run.getOutputStream().close();
        String output = new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(run.waitFor()).as(output).isZero();
        assertThat(output).contains("MemoryUriTckTest over memory, rules: ");
        try (JarFile junit = new JarFile(JUNIT.toFile())) {
            assertThat(junit.getManifest().getMainAttributes().getValue("Engine-Version-junit-jupiter"))
                    .startsWith("5.12.");
        }
    }

    private static String classPathWithoutJUnit() {
        return Arrays.stream(AgentLauncher.sameClassPath("").classPath().split(":"))
                .filter(entry ->
                        !entry.contains("junit") && !entry.contains("surefire") && !entry.contains("opentest4j"))
                .collect(Collectors.joining(":"));
    }
}
