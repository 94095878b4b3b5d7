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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The guides show the examples as they are compiled and run here. */
class GuideTest {
    private static final Path DOCS = Path.of("..", "docs");
    private static final Path SOURCES =
            Path.of("src", "test", "java", "io", "github", "distributedsemaphore", "tck", "example");
    private static final Pattern CODE = Pattern.compile("(?ms)^<!-- code: (\\w+\\.java) -->\n```java\n(.*?)^```$");

    @ParameterizedTest
    @CsvSource({
        "writing-an-adapter.md, MapStore.java MapProvider.java MapTckTest.java MapSessionTest.java",
        "writing-an-adapter-over-a-network.md, KvStore.java KvProvider.java KvTckTest.java"
    })
    void showsTheCodeThatPassesTheKit(String document, String files) throws IOException {
        Path guide = DOCS.resolve(document);
        String text = Files.readString(guide);
        String expected = CODE.matcher(text).replaceAll(GuideTest::withCode);
        if (Boolean.getBoolean("tck.write.docs")) {
            Files.writeString(guide, expected);
        }

        assertThat(guide)
                .as("written anew by this test with -Dtck.write.docs=true")
                .hasContent(expected);
        assertThat(CODE.matcher(text).results().map(block -> block.group(1)))
                .containsExactlyInAnyOrder(files.split(" "));
    }

    @ParameterizedTest
    @ValueSource(strings = {"Map", "Kv"})
    void theAdapterIsShort(String example) throws IOException {
        long lines = 0;
        for (String part : List.of("Store", "Provider")) {
            lines += source(example + part + ".java")
                    .lines()
                    .filter(line -> !line.isBlank())
                    .count();
        }

        assertThat(lines).as("lines of code of the adapter").isLessThan(150);
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
