package io.github.distributedsemaphore.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.Cell;
import io.github.distributedsemaphore.benchmarks.cells.CellResult;
import io.github.distributedsemaphore.benchmarks.cells.Sample;
import java.io.StringReader;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xml.sax.InputSource;

/** The picture shows what the result files say. The figures here are made up and never shown to anybody. */
class ChartTest {
    private static final Cell ONE = new Cell("one", "one <thread>", 1, 1, false, List.of(), List.of());
    private static final Cell TWO = new Cell("two", "two", 2, 1, false, List.of(), List.of());

    @TempDir
    private Path folder;

    private static List<Sample> rates(long handOvers, double handOverMicros, double... pairs) {
        return DoubleStream.of(pairs)
                .mapToObj(rate -> new Sample(rate, 1 / rate, 0, 0, 0, 0, 0, handOvers, handOverMicros, 0, 0, 0, 0))
                .toList();
    }

    private void write(Cell cell, List<Sample> ours, List<Sample> theirs) {
        Map<String, List<Sample>> samples = new LinkedHashMap<>();
        samples.put("semaphore", ours);
        samples.put("peer", theirs);
        JsonReport.of(new CellResult(cell, 3, 1, samples), "Server 1").writeTo(folder, "redis");
    }

    private String chart() {
        return Chart.of("redis", List.of(TWO, ONE), folder);
    }

    @Test
    void aBarShowsTheMedianOfTheRatiosWithItsNoise() throws Exception {
        write(ONE, rates(0, 0, 10, 40, 90), rates(0, 0, 5, 20, 10));
        String svg = chart();

        DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(svg)));
        assertThat(svg)
                .contains("one: one &lt;thread&gt;", "semaphore / peer", ">2.00 (2.00..9.00)</text>")
                .contains("url(#faster)", "Server 1", "3 rounds of 1 ms")
                .doesNotContain("hand-over", "two: ");
    }

    @Test
    void aSlowerOneGoesToTheOtherSide() {
        write(ONE, rates(0, 0, 5), rates(0, 0, 10));

        assertThat(chart()).contains("fill=\"#f4c05f\"", ">0.50 (0.50..0.50)</text>");
    }

    @Test
    void handOversAreComparedByTheirSpeed() {
        write(TWO, rates(3, 50, 10), rates(3, 100, 10));

        assertThat(chart()).contains("semaphore / peer, speed of a hand-over", ">2.00 (2.00..2.00)</text>");
    }

    @Test
    void theSameResultsGiveTheSameBytesInTheOrderOfTheCells() {
        write(ONE, rates(0, 0, 10, 40, 90), rates(0, 0, 5, 20, 10));
        write(TWO, rates(3, 50, 10), rates(3, 100, 10));
        String svg = chart();

        assertThat(svg).isEqualTo(chart());
        assertThat(svg.indexOf("two: two")).isLessThan(svg.indexOf("one: one"));
    }

    @Test
    void noResultIsSaidAndNotDrawn() {
        assertThatThrownBy(this::chart)
                .isInstanceOf(BrokenRunException.class)
                .hasMessageContaining("there is no result of redis in " + folder);
    }
}
