package io.github.distributedsemaphore.tck.planted;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/**
 * Shows that a kit finds planted bugs in quick mode, and that it finds nothing where none is planted. Each run has a JVM of its own,
 * and so have the processes that it starts the wrong classes too. {@code -Dtck.planted=NAME}, a regular expression, chooses
 * bugs; {@code -Dtck.planted.seeds=5} runs each of them with seeds 1 to 5 instead of 1 alone.
 *
 * @param kit the test class of the kit
 * @param folder where wrong classes are compiled
 */
public record PlantedRun(Class<?> kit, Path folder) {
    private static final String PATIENCE = "tck.patience";

    private static final int LONGEST_MINUTES = 4;

    /**
     * Makes a test for each bug and seed, and one without a bug for each rule that is to find some. Without the property {@code
     * tck.planted} no kit runs: each bug is only compiled, which shows that the source still has the text that it replaces.
     *
     * @param bugs the bugs
     * @return the tests
     */
    public Stream<DynamicTest> tests(List<PlantedBug> bugs) {
        String chosen = System.getProperty("tck.planted");
        if (chosen == null) {
            return bugs.stream()
                    .map(bug -> DynamicTest.dynamicTest("can be planted: " + bug.name(), () -> compile(bug)));
        }
        int seeds = Integer.getInteger("tck.planted.seeds", 1);
        List<PlantedBug> planted =
                bugs.stream().filter(bug -> bug.name().matches(chosen)).toList();
        Stream<DynamicTest> found = planted.stream()
                .flatMap(bug -> IntStream.rangeClosed(1, seeds)
                        .mapToObj(seed -> DynamicTest.dynamicTest(
                                bug.rule() + " finds, with seed " + seed + ": " + bug.name(),
                                () -> assertFound(bug, seed))));
        Stream<DynamicTest> passed = planted.stream()
                .map(PlantedBug::rule)
                .distinct()
                .map(rule -> DynamicTest.dynamicTest(rule + " passes without a bug", () -> assertPassed(rule)));
        return Stream.concat(found, passed);
    }

    private void assertFound(PlantedBug bug, int seed) throws Exception {
        String said = run(bug, seed, 1);
        assertThat(said.lines().filter(line -> line.contains(bug.message())).toList())
                .as("what rule %s says of this bug: %s; all that was said: %s", bug.rule(), bug, said)
                .isNotEmpty();
    }

    private void assertPassed(String rule) throws Exception {
        run(PlantedBug.none(rule), 1, 0);
    }

    private String run(PlantedBug bug, int seed, int status) throws Exception {
        Path own = compile(bug);
        File output = own.resolve("output").toFile();
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                own.resolve("classes") + File.pathSeparator + classPath()));
        String patience = System.getProperty(PATIENCE);
        if (patience != null) {
            command.add("-D" + PATIENCE + "=" + patience);
        }
        command.addAll(List.of(PlantedMain.class.getName(), kit.getName(), bug.rule(), Integer.toString(seed)));
        Process run = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output)
                .start();
        try {
            assertThat(run.waitFor(LONGEST_MINUTES, TimeUnit.MINUTES))
                    .as("the run over '%s' ended within %s minutes: %s", bug, LONGEST_MINUTES, text(output))
                    .isTrue();
        } finally {
            run.destroyForcibly();
        }
        String said = text(output);
        assertThat(run.exitValue())
                .as("status of rule %s over '%s', 0 is passed, 1 is failed; it said: %s", bug.rule(), bug, said)
                .isEqualTo(status);
        return said;
    }

    /** Returns the folder with the wrong classes. */
    private Path compile(PlantedBug bug) throws IOException {
        Path own = Files.createTempDirectory(folder, "planted");
        bug.compile(own, classPath());
        return own;
    }

    private static String classPath() {
        return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    }

    private static String text(File file) throws IOException {
        return Files.readString(file.toPath());
    }
}
