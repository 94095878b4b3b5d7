package io.github.distributedsemaphore.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/** No public CI runs here, so this shows that its files can be read, and that they call scripts and options that exist. */
final class WorkflowsTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Pattern CALL = Pattern.compile("(?:sudo -E env \"PATH=\\$PATH\" )?\\./([a-z]+)((?: \\S+)*)");
    private static final Pattern MATRIX = Pattern.compile("\\$\\{\\{ matrix\\.([a-z]+) }}");

    static Stream<Path> workflows() throws IOException {
        try (Stream<Path> files = Files.list(ROOT.resolve(".github/workflows"))) {
            return files.toList().stream();
        }
    }

    @ParameterizedTest
    @MethodSource("workflows")
    void aWorkflowOnlyCallsScriptsWithOptionsThatTheyHave(Path file) throws IOException {
        Map<?, ?> workflow = new Yaml(new SafeConstructor(new LoaderOptions())).load(Files.readString(file));
        // YAML 1.1 reads the word "on" as true.
        assertThat(workflow.containsKey(true)).isTrue();
        Map<?, ?> jobs = map(workflow, "jobs");
        assertThat(jobs).isNotEmpty();
        for (Object name : jobs.keySet()) {
            Map<?, ?> job = map(jobs, name);
            assertThat(job.get("runs-on")).isNotNull();
            assertThat(job.get("timeout-minutes")).isNotNull();
            for (Object step : list(job, "steps")) {
                assertStep((Map<?, ?>) step, job);
            }
        }
    }

    private static void assertStep(Map<?, ?> step, Map<?, ?> job) throws IOException {
        if (step.get("uses") instanceof String action) {
            assertThat(action).as("pinned by commit").matches("actions/[a-z-]+@[0-9a-f]{40}");
        } else {
            assertThat(step.get("run")).isInstanceOf(String.class);
            for (String call : calls((String) step.get("run"), job)) {
                assertRuns(call);
            }
        }
    }

    /** The line, once for each value of the job's matrix that it names. */
    private static List<String> calls(String run, Map<?, ?> job) {
        Matcher placeholder = MATRIX.matcher(run);
        if (!placeholder.find()) {
            return List.of(run);
        }
        return list(map(map(job, "strategy"), "matrix"), placeholder.group(1)).stream()
                .map(value -> run.replace(placeholder.group(), (String) value))
                .toList();
    }

    private static void assertRuns(String line) throws IOException {
        Matcher call = CALL.matcher(line);
        assertThat(call.matches()).as("'%s' is one call of a script", line).isTrue();
        Path script = ROOT.resolve(call.group(1));
        assertThat(script).isExecutable();
        String text = Files.readString(script);
        // The folder that --stage takes is the caller's.
        for (String word : call.group(2).replace(" staging", "").strip().split(" ")) {
            assertThat(Pattern.compile("(?m)(^|[ |(])" + Pattern.quote(word) + "(?=[ |)])")
                            .matcher(text)
                            .find())
                    .as("%s knows '%s'", script.getFileName(), word)
                    .isTrue();
        }
    }

    private static Map<?, ?> map(Map<?, ?> map, Object key) {
        assertThat(map.get(key)).as("%s in %s", key, map).isInstanceOf(Map.class);
        return (Map<?, ?>) map.get(key);
    }

    private static List<?> list(Map<?, ?> map, Object key) {
        assertThat(map.get(key)).as("%s in %s", key, map).isInstanceOf(List.class);
        return (List<?>) map.get(key);
    }
}
