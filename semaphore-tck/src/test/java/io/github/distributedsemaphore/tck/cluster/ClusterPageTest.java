package io.github.distributedsemaphore.tck.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.LongSummaryStatistics;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** {@code docs/conformance/clusters.md} says what the reports in {@code docs/conformance/clusters} say. */
class ClusterPageTest {
    private static final Path DOCUMENT = Path.of("..", "docs", "conformance", "clusters.md");
    private static final Path REPORTS = Path.of("..", "docs", "conformance", "clusters");
    private static final String BEGIN = "<!-- From the reports in clusters; see above for how. -->\n";

    private static List<JsonObject> reports() throws IOException {
        List<JsonObject> reports = new ArrayList<>();
        try (Stream<Path> files = Files.list(REPORTS)) {
            for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                reports.add(JsonParser.parseString(Files.readString(file)).getAsJsonObject());
            }
        }
        return reports;
    }

    private static String tables() throws IOException {
        StringBuilder text = new StringBuilder();
        for (JsonObject report : reports()) {
            text.append("\n## ").append(report.get("form").getAsString()).append("\n\n");
            JsonArray histories = report.getAsJsonArray("histories");
            text.append(about(report, histories));
            text.append(
                    "| fault | strikes (new leader; repaired) | grants a second | nobody is granted anything: median, longest |"
                            + " permits kept | overlaps, the longest | violations |\n");
            text.append("| --- | --- | --- | --- | --- | --- | --- |\n");
            histories.forEach(history -> text.append(row(history.getAsJsonObject())));
        }
        return text.toString();
    }

    private static String about(JsonObject report, JsonArray histories) {
        LongSummaryStatistics seconds = histories.asList().stream()
                .mapToLong(history -> number(history.getAsJsonObject(), "millis") / 1_000)
                .summaryStatistics();
        String remark = report.has("remark") ? " " + report.get("remark").getAsString() : "";
        return String.format(
                Locale.ROOT,
                "Seed %d. %d faults, %d to %d s each, the waits for the cluster to be whole included.%s%n%n",
                report.get("seed").getAsLong(),
                histories.size(),
                seconds.getMin(),
                seconds.getMax(),
                remark);
    }

    private static String row(JsonObject history) {
        long overlaps = number(history, "overlaps");
        long aboveLimit = history.has("aboveLimit") ? number(history, "aboveLimit") : 0;
        return String.format(
                Locale.ROOT,
                "| %s | %d (%d; %d) | %.0f | %.1f s, %.1f s | %d of %d | %s | %d |%n",
                history.get("fault").getAsString().toLowerCase(Locale.ROOT).replace('_', ' '),
                number(history, "strikes"),
                number(history, "newLeaders"),
                history.has("repairs") ? number(history, "repairs") : 0,
                history.get("grantsPerSecond").getAsDouble(),
                number(history, "outageMedianMillis") / 1_000.0,
                number(history, "outageWorstMillis") / 1_000.0,
                number(history, "keptOver"),
                number(history, "heldOver"),
                (overlaps == 0
                                ? "none"
                                : overlaps + ", "
                                        + String.format(
                                                Locale.ROOT,
                                                "%.1f s",
                                                number(history, "longestOverlapMillis") / 1_000.0))
                        + (aboveLimit == 0 ? "" : "; " + aboveLimit + " above the limit"),
                number(history, "violations"));
    }

    private static long number(JsonObject history, String name) {
        return history.get(name).getAsLong();
    }

    @Test
    void theDocumentIsUpToDate() throws IOException {
        String document = Files.readString(DOCUMENT);
        assertThat(document).contains(BEGIN);
        String expected = document.substring(0, document.indexOf(BEGIN) + BEGIN.length()) + tables();
        if (Boolean.getBoolean("tck.write.docs")) {
            Files.writeString(DOCUMENT, expected);
        }
        assertThat(DOCUMENT)
                .as("docs/conformance/clusters.md; write it with mvn -pl semaphore-tck -am test -Dtest=ClusterPageTest"
                        + " -Dsurefire.failIfNoSpecifiedTests=false -Dtck.write.docs=true")
                .hasContent(expected);
    }

    @Test
    void noReportSaysThatMoreHeldASlotThanIsDeclared() throws IOException {
        for (JsonObject report : reports()) {
            for (JsonElement history : report.getAsJsonArray("histories")) {
                assertThat(number(history.getAsJsonObject(), "violations"))
                        .as("%s: %s", report.get("form"), history)
                        .isZero();
            }
        }
    }

    @Test
    void eachFaultOfAReportIsOneOfToday() throws IOException {
        List<String> faults =
                Arrays.stream(ClusterFault.values()).map(Enum::name).toList();
        for (JsonObject report : reports()) {
            assertThat(report.getAsJsonArray("histories"))
                    .hasSizeGreaterThanOrEqualTo(12)
                    .extracting(
                            history -> history.getAsJsonObject().get("fault").getAsString())
                    .doesNotHaveDuplicates()
                    .isSubsetOf(faults);
        }
    }
}
