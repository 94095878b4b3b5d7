package io.github.distributedsemaphore.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.BackendProvider;
import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * A module that is missing from the BOM cannot be used by projects that import it, and one that has a parent leaks its versions. A URI whose
 * backend is missing says which module to add.
 */
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

    /** The API alone is asked for each scheme that a backend serves: it knows the modules by a list of its own. */
    @Test
    void withoutABackendTheMessageNamesTheModuleOfEachScheme() throws IOException, ReflectiveOperationException {
        Map<String, String> named = new TreeMap<>();
        Map<String, String> serving = new TreeMap<>();
        try (URLClassLoader api =
                new URLClassLoader(new URL[] {location(SemaphoreClient.class)}, ClassLoader.getPlatformClassLoader())) {
            Method connect = api.loadClass(SemaphoreClient.class.getName()).getMethod("connect", String.class);
            for (BackendProvider provider : ServiceLoader.load(BackendProvider.class)) {
                URL module = location(provider.getClass());
                if (module.equals(location(PublishedModulesTest.class))) {
                    continue;
                }
                for (String scheme : provider.schemes()) {
                    serving.put(scheme, lastModuleIn(module.getPath()));
                    assertThatThrownBy(() -> connect.invoke(null, scheme + ":"))
                            .cause()
                            .isInstanceOf(IllegalArgumentException.class)
                            .satisfies(failure -> named.put(scheme, lastModuleIn(failure.getMessage())));
                }
            }
        }
        assertThat(serving).containsKeys("local", "redis", "amqp", "consul", "postgresql");
        assertThat(named).isEqualTo(serving);
    }

    private static URL location(Class<?> type) {
        return type.getProtectionDomain().getCodeSource().getLocation();
    }

    private static String lastModuleIn(String text) {
        return Pattern.compile("semaphore-[a-z]+")
                .matcher(text)
                .results()
                .map(MatchResult::group)
                .reduce("none", (first, second) -> second);
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
