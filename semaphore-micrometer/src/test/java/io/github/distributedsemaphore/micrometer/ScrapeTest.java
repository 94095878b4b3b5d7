package io.github.distributedsemaphore.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.test.TestSemaphores;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What Prometheus reads, and that the dashboard and the alerts ask for nothing else. */
class ScrapeTest {
    private static final Path GOLDEN =
            Path.of("src/test/resources/io/github/distributedsemaphore/micrometer/scrape.txt");
    private static final Pattern METRIC = Pattern.compile("\\b(distributed_semaphore_[a-z_]+)(\\{([^}]*)})?");
    private static final Pattern BY = Pattern.compile("\\b(?:by|without) ?\\(([^)]*)\\)");

    /** A story by a manual clock, so that each number is known. */
    private static String scrape() {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        try (TestSemaphores semaphores = TestSemaphores.manual()) {
            SemaphoreClient client = semaphores.client();
            DistributedSemaphore exports = semaphores.create("exports", 2);
            SemaphoreMetrics.builder(client).names("exports", "imports").build().bindTo(registry);
            Permit one = exports.tryAcquire().orElseThrow();
            Permit two = exports.tryAcquire().orElseThrow();
            assertThat(exports.tryAcquire()).isEmpty();
            CompletableFuture<Permit> late = exports.acquireAsync(Duration.ofSeconds(1));
            semaphores.advance(Duration.ofSeconds(1));
            assertThat(late).isCompletedExceptionally();
            CompletableFuture<Permit> left = exports.acquireAsync();
            left.cancel(false);
            CompletableFuture<Permit> next = exports.acquireAsync();
            semaphores.advance(Duration.ofMillis(1500));
            one.release();
            semaphores.advance(Duration.ZERO);
            semaphores.lose(two);
            semaphores.advance(Duration.ofSeconds(4));
            String text = registry.scrape();
            next.join().release();
            return text;
        }
    }

    /** In order, without what depends on the machine or the run. */
    private static String normalized(String scrape) {
        return scrape.lines()
                .map(line -> line.startsWith("#")
                        ? line
                        : line.replaceAll("(_validity_seconds\\{.*}) [0-9.E-]+$", "$1 VARIES")
                                // Calls that come at one time may share an exchange.
                                .replaceAll("(_exchange_.*_(count|sum)\\{.*}) [1-9][0-9.E-]*$", "$1 VARIES"))
                .sorted()
                .collect(Collectors.joining("\n", "", "\n"));
    }

    @Test
    void theScrapeIsTheGoldenOne() throws IOException {
        String found = normalized(scrape());
        if (Boolean.getBoolean("golden.write")) {
            Files.createDirectories(GOLDEN.getParent());
            Files.writeString(GOLDEN, found);
        }
        assertThat(found).isEqualTo(Files.readString(GOLDEN));
    }

    /** The labels of each series of the golden scrape. */
    private static Map<String, Set<String>> labels() throws IOException {
        Map<String, Set<String>> labels = new TreeMap<>();
        for (String line : Files.readAllLines(GOLDEN)) {
            Matcher metric = METRIC.matcher(line);
            if (!line.startsWith("#") && metric.find()) {
                labels.computeIfAbsent(metric.group(1), key -> new HashSet<>()).addAll(names(metric.group(3)));
            }
        }
        return labels;
    }

    private static List<String> names(String selector) {
        return selector == null || selector.isBlank()
                ? List.of()
                : Pattern.compile("([a-z_]+)\\s*(=~|!~|!=|=)")
                        .matcher(selector)
                        .results()
                        .map(match -> match.group(1))
                        .toList();
    }

    private static void assertAsksForWhatIsThere(String query) throws IOException {
        Map<String, Set<String>> labels = labels();
        Set<String> known = new TreeSet<>(Set.of("le"));
        Matcher metric = METRIC.matcher(query);
        int found = 0;
        while (metric.find()) {
            found++;
            assertThat(labels).as(query).containsKey(metric.group(1));
            Set<String> own = labels.getOrDefault(metric.group(1), Set.of());
            known.addAll(own);
            for (String label : names(metric.group(3))) {
                assertThat(own.contains(label) || Set.of("job", "instance").contains(label))
                        .as("label %s in %s", label, query)
                        .isTrue();
            }
        }
        assertThat(found).as("metrics in %s", query).isPositive();
        Matcher by = BY.matcher(query);
        while (by.find()) {
            for (String label : by.group(1).split(",")) {
                assertThat(known.contains(label.strip())
                                || Set.of("job", "instance").contains(label.strip()))
                        .as("grouping by %s in %s", label, query)
                        .isTrue();
            }
        }
    }

    @Test
    void theDashboardAsksForWhatIsThere() throws IOException {
        JsonObject dashboard = JsonParser.parseString(
                        Files.readString(Path.of("../docs/grafana/distributed-semaphore.json")))
                .getAsJsonObject();
        List<String> queries = new ArrayList<>();
        for (JsonElement panel : dashboard.getAsJsonArray("panels")) {
            JsonObject one = panel.getAsJsonObject();
            if (one.has("targets")) {
                one.getAsJsonArray("targets")
                        .forEach(target ->
                                queries.add(target.getAsJsonObject().get("expr").getAsString()));
            }
        }
        assertThat(queries).hasSizeGreaterThan(7);
        for (String query : queries) {
            assertAsksForWhatIsThere(query);
        }
    }

    @Test
    void theAlertsAskForWhatIsThere() throws IOException {
        List<String> queries = Files.readAllLines(Path.of("../docs/operations.md")).stream()
                .map(String::strip)
                .filter(line -> line.startsWith("expr:"))
                .map(line -> line.substring("expr:".length()).strip())
                .toList();
        assertThat(queries).hasSize(5);
        for (String query : queries) {
            assertAsksForWhatIsThere(query);
        }
    }
}
