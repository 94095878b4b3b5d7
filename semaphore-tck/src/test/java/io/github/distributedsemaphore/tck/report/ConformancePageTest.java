package io.github.distributedsemaphore.tck.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.tck.rulebook.RuleBook;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** {@code docs/conformance/README.md} says what the reports in {@code docs/conformance} say. */
class ConformancePageTest {
    private static final Path DOCUMENT = Path.of("..", "docs", "conformance", "README.md");
    private static final Path REPORTS = Report.FOLDER;
    private static final String BEGIN = "<!-- From the reports in this folder; see below for how. -->\n";
    private static final String END = "<!-- End of what comes from the reports. -->";

    private final List<Report> reports = Report.in(REPORTS);
    private final List<Report> full = Report.in(REPORTS.resolve("full"));

    @Test
    void theDocumentIsUpToDate() throws IOException {
        String document = Files.readString(DOCUMENT);
        int begin = document.indexOf(BEGIN) + BEGIN.length();
        int end = document.indexOf(END);
        assertThat(document.substring(0, end)).contains(BEGIN);
        String expected = document.substring(0, begin) + ConformancePage.of(reports, full) + document.substring(end);
        if (Boolean.getBoolean("tck.write.docs")) {
            Files.writeString(DOCUMENT, expected);
        }

        assertThat(DOCUMENT)
                .as(
                        "docs/conformance/README.md; write it with mvn -pl semaphore-tck -am test -Dtest=ConformancePageTest"
                                + " -Dsurefire.failIfNoSpecifiedTests=false -Dtck.write.docs=true")
                .hasContent(expected);
    }

    @Test
    void aPageBesideAReportIsOfTheSameRun() {
        List<Report> withPage =
                reports.stream().filter(report -> Files.exists(page(report))).toList();
        assertThat(withPage).isNotEmpty().allSatisfy(report -> {
            assertThat(page(report))
                    .content()
                    .as("the page of " + report.backend() + ", to be copied together with its report")
                    .contains("seed <b>" + report.run("seed") + "</b>");
            assertThat(Files.size(page(report))).isLessThanOrEqualTo(ConformanceHtml.MOST_BYTES);
        });
    }

    private static Path page(Report report) {
        return REPORTS.resolve(report.backend() + ".html");
    }

    @Test
    void eachReportIsOfTheRulesOfToday() {
        assertThat(reports)
                .isNotEmpty()
                .allSatisfy(report -> assertThat(report.rules())
                        .as("the report of " + report.backend()
                                + " is of another kit: run the adapter's and copy its report")
                        .containsOnlyKeys(RuleBook.load().rules().keySet()));
    }

    @Test
    void noReportSaysThatARuleIsBroken() {
        assertThat(reports)
                .allSatisfy(report -> assertThat(report.count("failed"))
                        .as("rules that " + report.backend() + " broke")
                        .isZero());
        assertThat(Stream.of(reports, full).flatMap(List::stream))
                .allSatisfy(report -> assertThat(report.histories())
                        .as("violations in the histories of " + report.backend())
                        .allMatch(history -> history.get("violations").getAsInt() == 0));
    }

    @Test
    void thereIsAReportOfAFullRunOfEachAdapter() {
        assertThat(full)
                .extracting(Report::backend)
                .containsExactly("local", "postgresql", "redis", "rabbitmq", "consul");
        assertThat(full).allSatisfy(report -> assertThat(report.run("mode")).isEqualTo("full"));
    }
}
