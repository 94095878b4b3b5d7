package io.github.distributedsemaphore.tck.example;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The guide shows the example as it is compiled and run here. */
class GuideTest {
    private static final Path GUIDE = Path.of("..", "docs", "writing-an-adapter.md");
    private static final Path SOURCES =
            Path.of("src", "test", "java", "io", "github", "distributedsemaphore", "tck", "example");
    private static final Pattern CODE = Pattern.compile("(?ms)^<!-- code: (\\w+\\.java) -->\n```java\n(.*?)^```$");

    @Test
    void showsTheCodeThatPassesTheKit() throws IOException {
        String guide = Files.readString(GUIDE);
        String expected = CODE.matcher(guide).replaceAll(GuideTest::withCode);
        if (Boolean.getBoolean("tck.write.docs")) {
            Files.writeString(GUIDE, expected);
        }

        assertThat(GUIDE)
                .as(
                        "docs/writing-an-adapter.md; write its code anew with mvn -pl semaphore-tck -am test -Dtest=GuideTest"
                                + " -Dsurefire.failIfNoSpecifiedTests=false -Dtck.write.docs=true")
                .hasContent(expected);
    }

    @Test
    void theExampleIsShownWholeAndIsShort() throws IOException {
        List<String> shown = CODE.matcher(Files.readString(GUIDE))
                .results()
                .map(block -> block.group(1))
                .toList();
        long lines = 0;
        for (String file : shown) {
            lines += source(file).lines().filter(line -> !line.isBlank()).count();
        }

        assertThat(shown).containsExactlyInAnyOrder("MapStore.java", "MapProvider.java", "MapTckTest.java");
        assertThat(lines).as("lines of code of the example").isLessThan(150);
    }

    private static String withCode(MatchResult block) {
        try {
            return Matcher.quoteReplacement(
                    "<!-- code: " + block.group(1) + " -->\n```java\n" + source(block.group(1)) + "```");
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** Without package and imports, which every editor writes. */
    private static String source(String file) throws IOException {
        return Files.readString(SOURCES.resolve(file))
                .lines()
                .filter(line -> !line.startsWith("package ") && !line.startsWith("import "))
                .collect(Collectors.joining("\n", "", "\n"))
                .stripLeading();
    }
}
