package io.github.distributedsemaphore.tck.report;

import com.google.gson.Gson;
import io.github.distributedsemaphore.tck.history.HistoryWindows;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/**
 * What one of several JVMs adds to the report that they write together.
 *
 * @param levels what its harness could do
 * @param rules how the tests went
 * @param bounds histograms of what was measured, compressed and in Base64
 * @param histories figures of histories
 * @param windows what a page shows of histories
 * @param states the states that were expected or reached
 * @param calls the methods of the port that were called
 */
public record ReportPart(
        Set<String> levels,
        Map<String, RuleResults.Result> rules,
        Map<Bound, String> bounds,
        List<HistoryFigures> histories,
        List<HistoryWindows> windows,
        List<StateFigures> states,
        Set<String> calls) {
    private static final Gson GSON = new Gson();

    /**
     * Puts it together.
     *
     * @param levels what the harness can do
     * @param results how the tests went
     * @param measurements what was measured
     * @param use which methods were called
     * @return the part
     */
    public static ReportPart of(Set<String> levels, RuleResults results, Measurements measurements, PortUse use) {
        Map<Bound, String> bounds = new EnumMap<>(Bound.class);
        for (Bound bound : Bound.values()) {
            bounds.put(bound, encoded(measurements.of(bound)));
        }
        return new ReportPart(
                levels,
                results.all(),
                bounds,
                measurements.histories(),
                measurements.windows(),
                measurements.states(),
                use.called());
    }

    /**
     * Adds it to those of another JVM.
     *
     * @param allLevels the levels there
     * @param results the results there
     * @param measurements the measurements there
     * @param use the calls there
     */
    public void addTo(Set<String> allLevels, RuleResults results, Measurements measurements, PortUse use) {
        allLevels.addAll(levels);
        rules.forEach((rule, result) -> results.add(List.of(rule), result));
        bounds.forEach((bound, histogram) -> measurements.of(bound).add(decoded(histogram)));
        histories.forEach(measurements::add);
        windows.forEach(measurements::add);
        for (StateFigures figures : states) {
            if (figures.expected()) {
                measurements.expect(Set.of(figures.state()));
            }
            measurements.reached(figures.state(), figures.reached());
        }
        use.addCalled(calls);
    }

    private static String encoded(Histogram histogram) {
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoCompressedByteBuffer(buffer);
        return Base64.getEncoder().encodeToString(Arrays.copyOf(buffer.array(), length));
    }

    private static Histogram decoded(String text) {
        try {
            return Histogram.decodeFromCompressedByteBuffer(
                    ByteBuffer.wrap(Base64.getDecoder().decode(text)), 0);
        } catch (DataFormatException e) {
            throw new IllegalStateException("a part of the report is damaged", e);
        }
    }

    /**
     * Writes it.
     *
     * @return its text form
     */
    public String toJson() {
        return GSON.toJson(this);
    }

    /**
     * Reads it.
     *
     * @param json its text form
     * @return the part
     */
    public static ReportPart fromJson(String json) {
        return GSON.fromJson(json, ReportPart.class);
    }
}
