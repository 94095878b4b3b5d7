package io.github.distributedsemaphore.tck.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.HistoryWindows;
import io.github.distributedsemaphore.tck.history.HistoryWindows.Span;
import io.github.distributedsemaphore.tck.history.Operation;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.RuleBook;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.xml.sax.InputSource;

/** The page of a run: everything is on it, what is wrong is seen at once, and its size is bounded. */
class ConformanceHtmlTest {
    private static final long MILLI = 1_000_000;

    private final RuleResults results = new RuleResults();
    private final Measurements measurements = new Measurements();

    private String page() {
        return ConformanceHtml.of(report("SomeTest"));
    }

    private Conformance report(String title) {
        Guarantees guarantees = GuaranteesBuilder.of("some").build();
        return Conformance.of(
                title,
                Map.of("mode", "quick", "seed", "42"),
                guarantees,
                "0, 1",
                results,
                measurements,
                new PortUse(),
                Map.of());
    }

    /** Three slots that pass from hand to hand; one millisecond each. */
    private static List<String> lines(int rounds) {
        List<String> lines = new ArrayList<>(List.of("limit 3"));
        Random random = new Random(7);
        long hold = 0;
        for (int round = 0; round < rounds; round++) {
            for (int slot = 1; slot <= 3; slot++) {
                hold++;
                long begin = round * MILLI + random.nextInt(1_000);
                long end = (round + 1) * MILLI - 200_000 + random.nextInt(1_000);
                String held = hold + ":" + slot + "@" + hold;
                lines.add("w" + slot + " acquire " + begin + " " + (begin + 50_000) + " ok 1 " + held + " never");
                lines.add("w" + slot + " release " + end + " " + (end + 50_000) + " ok 1 " + held + " " + end);
            }
        }
        return lines;
    }

    private void add(String title, List<String> lines, Span... faults) {
        History history = History.parse(lines);
        measurements.add(HistoryWindows.of(
                title, history, List.of(faults), HistoryChecks.violationsButRefusals(history, true), 5 * MILLI));
    }

    /** The next round's holder of slot 2 is in before the one of round 9 is out. */
    private static List<String> withPlantedOverlap() {
        List<String> lines = lines(20);
        lines.add("w7 acquire 9500000 9600000 ok 1 900:2@900 never");
        lines.add("w7 release 12500000 12550000 ok 1 900:2@900 12500000");
        return lines;
    }

    @Test
    void theSameReportGivesTheSameBytes() {
        add("RESET", withPlantedOverlap(), new Span(5 * MILLI, 6 * MILLI));
        measurements.add(Bound.RELEASE, 1_000_000);

        assertThat(page()).isEqualTo(page());
    }

    @Test
    void aPageIsWellFormedAndNeedsNoOtherFile() throws Exception {
        results.failed(List.of("1.1"), "expected <1> & \"2\"\n\u0000\u001b[0m");
        add("RESET", withPlantedOverlap(), new Span(5 * MILLI, 6 * MILLI));
        String page = page();

        assertThat(page).doesNotContain("<script", "http:", "https:", "<link", "src=", "@import");
        String asXml = page.replaceFirst("<!DOCTYPE html>", "")
                .replace("<meta charset=\"utf-8\">", "")
                .replaceAll("<meta [^>]*>", "")
                .replace("<br>", "<br/>");
        DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(asXml)));
    }

    @Test
    void everyRuleOfTheBookIsThereWithItsState() {
        results.passed(List.of("1.1"));
        results.failed(List.of("1.2"), "two hold one slot");
        results.aborted(List.of("1.3"), "CROSS_PROCESS is not declared");
        results.untested(List.of("1.4"), "no such hook");
        String page = page();

        assertThat(RuleBook.load().rules())
                .isNotEmpty()
                .allSatisfy((id, rule) -> assertThat(page)
                        .contains("id=\"r" + id + "\"", "href=\"#r" + id + "\"", Markup.escape(rule.text())));
        assertThat(page)
                .contains(
                        "✗ 1 rule is broken: 1.2", "<tr id=\"r1.2\" class=\"failed\">", "<pre>two hold one slot</pre>")
                .contains(
                        "Hint: repeat the run with <code>tck.seed=42</code>",
                        "one repetition that passes shows nothing")
                .contains("<tr id=\"r1.3\" class=\"aborted\">", "<b>CROSS_PROCESS is not declared</b>")
                .contains("<tr id=\"r1.4\" class=\"untested\">", "<b>no such hook</b>");
    }

    @Test
    void aPlantedOverlapIsMarkedAndNamed() {
        add("RESET", withPlantedOverlap());
        String page = page();

        assertThat(page)
                .contains("class=\"broken\"", "violation of rule 1.2", "rule 1.2 broken", "two hold one slot: ")
                .containsPattern(
                        "<rect class=\"overlap\" x=\"[0-9.]+\" y=\"[0-9.]+\" width=\"[0-9.]+\" height=\"22\"/>")
                .containsPattern(">OVERLAP for 20\\d us: w2 and w7</text>");
    }

    @Test
    void aHistoryWithoutViolationHasNoRedMark() {
        add("RESET", lines(20), new Span(5 * MILLI, 6 * MILLI));
        String page = page();

        assertThat(page)
                .contains("fault 1 of 1")
                .doesNotContain("class=\"broken\"", "<g class=\"violation\">", "OVERLAP for");
    }

    @Test
    void anOverlapThatIsDeclaredIsShownAndSaysSo() {
        History history = History.parse(withPlantedOverlap());
        measurements.add(HistoryWindows.of("RESET", history, List.of(), List.of(), 0));

        assertThat(page())
                .contains("OVERLAP for", "(within the declared exposure)", "two in one slot")
                .doesNotContain("class=\"broken\"");
    }

    @Test
    void whatIsLostUnknownOrDeadIsDrawnInDoubtUpToTheEndOfItsValidity() {
        add(
                "HOLDER_KILLED",
                List.of(
                        "limit 2",
                        "a acquire 0 1000000 ok 1 1:1@1 30000000",
                        "a death 5000000 5000000 ok 1 - never",
                        "b acquire 0 1000000 ok 1 2:2@2 30000000",
                        "b release 6000000 8000000 unknown 1 2:2@2 6000000",
                        "b try 40000000 41000000 refused 1 - never"));
        String page = page();

        assertThat(HistoryWindows.of("x", new History(2, List.of()), List.of(), List.of(), 0)
                        .windows())
                .isEmpty();
        assertThat(page).doesNotContain("<figure"); // nothing struck
        add(
                "HOLDER_STOPPED",
                List.of(
                        "limit 1",
                        "a acquire 0 1000000 ok 1 1:1@1 30000000",
                        "a loss 5000000 5000000 ok 1 1:1@1 never"));
        assertThat(page())
                .contains(
                        "loss that a noticed",
                        "perhaps to 10.0 ms",
                        "<rect class=\"maybe\" x=",
                        "<path class=\"valid\" d=\"M");
    }

    /** It asked first and was served last, so the order of the calls is not the order of the holds. */
    @Test
    void theSlotOfADeadHolderIsInDoubtAlsoIfItHadWaitedForLong() {
        History history = History.parse(List.of(
                "limit 1",
                "a acquire 0 9000000 ok 1 1:1@2 never",
                "b acquire 1000000 2000000 ok 1 2:1@1 never",
                "b release 7000000 8000000 ok 1 2:1@1 7000000",
                "a death 10000000 10000000 ok 1 - never",
                "c try 90000000 90000000 refused 1 - never"));
        HistoryWindows.Window window = HistoryWindows.of(
                        "dead", history, List.of(new Span(9 * MILLI, 10 * MILLI)), List.of(), 50 * MILLI)
                .windows()
                .get(0);

        assertThat(window.holds())
                .filteredOn(hold -> hold.process().equals("a"))
                .extracting(HistoryWindows.Hold::possibleTo)
                .containsExactly(60 * MILLI);
    }

    @Test
    void namesAreEscaped() {
        String evil = "<script>alert('x')</script>&\"";
        List<String> lines = new ArrayList<>(lines(5));
        lines.add("<b>&\"w'</b> acquire 100 200 refused 1 - never");
        add(evil, lines, new Span(0, MILLI));
        results.failed(List.of("1.1"), evil);
        String page = ConformanceHtml.of(report(evil));

        assertThat(page)
                .doesNotContain("<script", "<b>&\"w")
                .contains("&lt;script&gt;", "&lt;b&gt;&amp;&quot;w&#39;&lt;/b&gt;");
    }

    @Test
    void thePageStaysBelowItsBoundAndSaysWhatItLeavesOut() {
        RuleBook.load().rules().keySet().forEach(rule -> results.failed(List.of(rule), "<".repeat(100_000)));
        List<String> lines = withPlantedOverlap();
        lines.addAll(lines(600).subList(1, 3_601).stream()
                .map(line -> line.replaceFirst("^w", "a-process-with-a-rather-long-name-"))
                .toList());
        for (int i = 0; i < 60; i++) {
            add(
                    "shape " + i,
                    lines,
                    new Span(0, MILLI),
                    new Span(200 * MILLI, 400 * MILLI),
                    new Span(550 * MILLI, 590 * MILLI));
        }
        String page = page();

        assertThat(page.getBytes(StandardCharsets.UTF_8)).hasSizeLessThanOrEqualTo(ConformanceHtml.MOST_BYTES);
        assertThat(page).containsPattern("<b>\\d+ windows are left out").contains("id=\"window-1\"");
    }

    @Test
    void aWindowShowsAtMostSixtyHoldsHoweverManyThereAre() {
        List<String> lines = new ArrayList<>(List.of("limit 500"));
        for (int i = 1; i <= 500; i++) {
            lines.add("w" + i + " acquire 0 " + MILLI + " ok 1 " + i + ":" + i + "@1 never");
        }
        History history = History.parse(lines);
        HistoryWindows.Window window = HistoryWindows.of("many", history, List.of(new Span(0, MILLI)), List.of(), 0)
                .windows()
                .get(0);

        assertThat(window.holds()).hasSize(60);
        assertThat(window.leftOut()).isEqualTo(440);
    }

    @Test
    void aBoundThatIsExceededIsNamed() {
        measurements.add(Bound.RELEASE, Duration.ofMinutes(50).toNanos());

        assertThat(page()).contains(": EXCEEDED", "NOT MEASURED", "max 3");
    }

    @Test
    void aHistoryThatNeverEndsIsDrawn() {
        add("ONE", List.of("limit 1", "a acquire 0 10 ok 1 1:1@1 never", "b acquire 20 30 ok 1 2:1@2 never"));

        assertThat(page()).contains("OVERLAP to the end: a and b");
        assertThat(Operation.NEVER).isEqualTo(Long.MAX_VALUE);
    }
}
