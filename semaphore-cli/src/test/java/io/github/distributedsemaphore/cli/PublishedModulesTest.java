package io.github.distributedsemaphore.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A module that is missing from the BOM cannot be used by projects that import it, and one that has a parent leaks its versions. */
final class PublishedModulesTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    private static Stream<String> found(String regex, Path file) throws IOException {
        return Pattern.compile(regex, Pattern.MULTILINE)
                .matcher(Files.readString(file))
                .results()
                .map(match -> match.group(1));
    }

    private static boolean isPublished(String module) {
        try {
            return !Files.readString(ROOT.resolve(module).resolve("pom.xml"))
                    .contains("<maven.deploy.skip>true</maven.deploy.skip>");
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void theBomNamesEveryModuleThatIsPublishedAndNoOther() throws IOException {
        List<String> published = found("^ *<module>(.*)</module>", ROOT.resolve("pom.xml"))
                .filter(PublishedModulesTest::isPublished)
                .toList();
        assertThat(published).contains("semaphore-bom", "semaphore-api");
        assertThat(found("<artifactId>(semaphore-.*)</artifactId>", ROOT.resolve("semaphore-bom/pom.xml")))
                .containsExactlyInAnyOrderElementsOf(published);
    }

    @Test
    void theBomHasNoParentAndOneVersion() throws IOException {
        Path bom = ROOT.resolve("semaphore-bom/pom.xml");
        assertThat(Files.readString(bom)).doesNotContain("<parent>", "${");
        assertThat(found("<artifactId>semaphore-.*</artifactId>\\s*<version>(.*)</version>", bom)
                        .distinct())
                .containsExactly(found(
                                "<artifactId>semaphore-parent</artifactId>\\s*<version>(.*)</version>",
                                ROOT.resolve("pom.xml"))
                        .findFirst()
                        .orElseThrow());
    }
}
