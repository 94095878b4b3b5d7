package io.github.distributedsemaphore.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the documents show works: their Java is compiled, the first example is run, and their links lead somewhere. */
final class DocumentationTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Pattern JAVA = Pattern.compile("(?ms)^```java\n(.*?)^```$");
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)#:]+)[^)]*\\)");

    @TempDir
    private Path folder;

    @Test
    void thePlainExampleOfTheReadmeRuns() throws IOException, InterruptedException {
        List<String> examples = javaIn("README.md");
        assertThat(examples)
                .as("Spring Boot, which the starter's tests compile, and plain")
                .hasSize(2);
        String example = examples.get(1).replace("\"local:\"", "\"local:" + folder.resolve("state") + "\"");
        compile("Export", example);
        Process run = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-classpath",
                        folder + ":" + System.getProperty("java.class.path"),
                        "Export")
                .redirectErrorStream(true)
                .start();

        assertThat(new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                .isEqualTo("one of at most three exports, in slot 1\n");
        assertThat(run.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(run.exitValue()).isZero();
    }

    @Test
    void theGuardedResourceOfTheSemanticsCompiles() throws IOException {
        List<String> examples = javaIn("docs/semantics.md");
        assertThat(examples).hasSize(1);

        compile("GuardedStore", "import io.github.distributedsemaphore.*;\nimport java.util.*;\n" + examples.get(0));
    }

    @Test
    void everyRelativeLinkLeadsToAFile() throws IOException {
        List<String> broken = new ArrayList<>();
        for (String document : List.of("README.md", "docs/semantics.md", "docs/RATIONALE.md")) {
            Path file = ROOT.resolve(document);
            LINK.matcher(Files.readString(file))
                    .results()
                    .map(link -> link.group(1))
                    .filter(target -> !Files.exists(file.resolveSibling(target)))
                    .forEach(target -> broken.add(document + " -> " + target));
        }

        assertThat(broken).isEmpty();
    }

    private static List<String> javaIn(String document) throws IOException {
        return JAVA.matcher(Files.readString(ROOT.resolve(document)))
                .results()
                .map(block -> block.group(1))
                .toList();
    }

    private void compile(String type, String source) throws IOException {
        Path file = Files.writeString(folder.resolve(type + ".java"), source);
        int failed = ToolProvider.getSystemJavaCompiler()
                .run(
                        null,
                        null,
                        null,
                        "-Xlint:all,-path",
                        "-Werror",
                        "-proc:none",
                        "--release",
                        "17",
                        "-d",
                        folder.toString(),
                        "-classpath",
                        System.getProperty("java.class.path"),
                        file.toString());
        assertThat(failed).as("javac of " + source).isZero();
    }
}
