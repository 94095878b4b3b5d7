package io.github.distributedsemaphore.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the documents show works: their Java is compiled, the first example is run, links and pictures are checked. */
final class DocumentationTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Pattern JAVA = Pattern.compile("(?ms)^```java\n(.*?)^```$");
    private static final Pattern CLASS = Pattern.compile("class (\\w+)");
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)#:]*)(?:#([^)]*))?\\)");
    private static final Pattern CODE = Pattern.compile("(?ms)^ *```.*?^ *```$|`[^`\n]*`");
    private static final Pattern MERMAID = Pattern.compile("(?ms)^```mermaid\n(\\S+)[^\n]*\n(.*?)^```$");
    private static final Pattern NAMED_CLASS = Pattern.compile("`((?=\\w*[a-z]\\w*[a-z])[A-Z]\\w+)(?:\\.(\\w+))?`");
    private static final Pattern IMPORT = Pattern.compile("(?m)^import [\\w.]+\\.(\\w+);$");
    private static final String BEGIN = "<!-- Written by DocumentationTest from guarantees(). -->\n";
    private static final String END = "<!-- End of the written part. -->";
    private static final String IMPORTS =
            "import io.github.distributedsemaphore.*;\nimport java.time.Duration;\nimport java.util.*;\n";

    private static final String NODE = "\\w+(\\[\"[^\"]+\"]|\\{\"[^\"]+\"})?";

    /** What a line of a picture may be, by its kind: the part of Mermaid's grammar that the documents use. */
    private static final Map<String, Pattern> STATEMENTS = Map.of(
            "flowchart", Pattern.compile(NODE + "( (-->|-\\.->)(\\|\"?[^|\"]+\"?\\|)? " + NODE + ")*|subgraph .*|end"),
            "sequenceDiagram",
                    Pattern.compile("participant \\w+ as .+|\\w+--?>>\\w+: [^;#]+|Note over \\w+,\\w+: [^;#]+"),
            "stateDiagram-v2", Pattern.compile("(\\[\\*]|\\w+) --> (\\[\\*]|\\w+)(: [^;#:]+)?"));

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
    void theExamplesForPlainJavaCompile() throws IOException {
        for (String document : List.of("docs/guarantees.md", "docs/getting-started.md", "docs/settings.md")) {
            List<String> examples = javaIn(document);
            assertThat(examples).as(document).isNotEmpty();
            for (String example : examples) {
                Matcher type = CLASS.matcher(example);
                assertThat(type.find()).isTrue();
                compile(type.group(1), IMPORTS + example);
            }
        }
    }

    @Test
    void everyRelativeLinkLeadsToAFileAndToAHeadingInIt() throws IOException {
        List<String> broken = new ArrayList<>();
        for (Path document : documents()) {
            for (MatchResult link :
                    LINK.matcher(withoutCode(document)).results().toList()) {
                String target = link.group(1);
                String anchor = link.group(2);
                Path file = target.isEmpty() ? document : document.resolveSibling(target);
                if (!Files.exists(file) || (anchor != null && !anchors(file).contains(anchor))) {
                    broken.add(ROOT.relativize(document) + " -> " + link.group());
                }
            }
        }

        assertThat(broken).isEmpty();
    }

    @Test
    void everyPictureCanBeDrawn() throws IOException {
        List<String> broken = new ArrayList<>();
        int pictures = 0;
        for (Path document : documents()) {
            for (MatchResult block :
                    MERMAID.matcher(Files.readString(document)).results().toList()) {
                pictures++;
                Pattern statement = STATEMENTS.get(block.group(1));
                block.group(2)
                        .lines()
                        .filter(line -> statement == null
                                || !statement.matcher(line.strip()).matches())
                        .forEach(line -> broken.add(ROOT.relativize(document) + ": " + line));
            }
        }

        assertThat(broken).isEmpty();
        assertThat(pictures).isGreaterThanOrEqualTo(5);
    }

    /** So that a class that is renamed does not live on in the pages that explain it. */
    @Test
    void everyClassThatThePagesForDevelopersNameExistsAndHasTheMember() throws IOException {
        Map<String, String> sources = sources();
        Set<String> imported = sources.values().stream()
                .flatMap(source -> IMPORT.matcher(source).results())
                .map(line -> line.group(1))
                .collect(Collectors.toSet());
        List<String> unknown = new ArrayList<>();
        int names = 0;
        for (Path document : documents()) {
            // What PIT found is the record of a day, with the names of that day.
            if (!document.startsWith(ROOT.resolve("docs/internals")) || document.endsWith("mutants-record.md")) {
                continue;
            }
            for (MatchResult name :
                    NAMED_CLASS.matcher(Files.readString(document)).results().toList()) {
                names++;
                String source = sources.get(name.group(1));
                if (source == null ? !imported.contains(name.group(1)) : !hasMember(source, name.group(2))) {
                    unknown.add(ROOT.relativize(document) + ": " + name.group());
                }
            }
        }

        assertThat(unknown).isEmpty();
        assertThat(names).isGreaterThan(100);
    }

    private static boolean hasMember(String source, String member) {
        return member == null
                || Pattern.compile("\\b" + member + "\\b").matcher(source).find();
    }

    /** The sources of this project by the name of their class. Classes of one name are put together. */
    private static Map<String, String> sources() throws IOException {
        Map<String, String> sources = new HashMap<>();
        try (Stream<Path> modules = Files.list(ROOT)) {
            for (Path module : modules.map(module -> module.resolve("src"))
                    .filter(Files::isDirectory)
                    .toList()) {
                addSources(module, sources);
            }
        }
        return sources;
    }

    private static void addSources(Path folder, Map<String, String> sources) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file :
                    files.filter(file -> file.toString().endsWith(".java")).toList()) {
                String name = file.getFileName().toString().replace(".java", "");
                sources.merge(name, Files.readString(file), String::concat);
            }
        }
    }

    /** With -Dtck.write.docs=true it writes the table. */
    @Test
    void theTableOfPromisesIsWhatTheBackendsPromiseByDefault() throws IOException {
        Path page = ROOT.resolve("docs/choosing-a-backend.md");
        String text = Files.readString(page);
        int begin = text.indexOf(BEGIN) + BEGIN.length();
        String expected = text.substring(0, begin) + PromisesTable.text() + text.substring(text.indexOf(END));
        if (Boolean.getBoolean("tck.write.docs")) {
            Files.writeString(page, expected);
        }

        assertThat(page)
                .as("docs/choosing-a-backend.md; -Dtck.write.docs=true writes it")
                .hasContent(expected);
    }

    private static List<Path> documents() throws IOException {
        try (Stream<Path> docs = Files.walk(ROOT.resolve("docs"));
                Stream<Path> top = Files.list(ROOT)) {
            return Stream.concat(docs, top)
                    .filter(file -> file.toString().endsWith(".md"))
                    .toList();
        }
    }

    private static String withoutCode(Path document) throws IOException {
        return CODE.matcher(Files.readString(document)).replaceAll("");
    }

    /** The names that GitHub gives to headings. */
    private static Set<String> anchors(Path document) throws IOException {
        return withoutCode(document)
                .lines()
                .filter(line -> line.startsWith("#"))
                .map(line -> line.replaceFirst("^#+ ", "")
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N} _-]", "")
                        .replace(' ', '-'))
                .collect(Collectors.toSet());
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
                        "-Xlint:all,-path,-try",
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
