package io.github.distributedsemaphore.benchmarks.cells;

import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.HdrHistogram.Histogram;

/**
 * What one variant did in one round, over all its processes.
 *
 * @param pairsPerSecond acquires that were released again
 * @param p50Micros of acquire
 * @param p99Micros of acquire
 * @param worstMillis the longest acquire
 * @param smallestShare of the pairs that one process had, in percent
 * @param largestShare likewise
 * @param usedPercent how much of the time of all permits they were held
 * @param handOvers how often the only permit went to another process that waited for it
 * @param handOverMicros the median time that took
 * @param commandsPerPair that the server executed
 * @param serverMicrosPerPair of processor time that the server used
 * @param clientMicrosPerPair of processor time that the processes under measurement used
 * @param allocatedBytesPerPair by these processes
 */
public record Sample(
        double pairsPerSecond,
        double p50Micros,
        double p99Micros,
        double worstMillis,
        double smallestShare,
        double largestShare,
        double usedPercent,
        long handOvers,
        double handOverMicros,
        double commandsPerPair,
        double serverMicrosPerPair,
        double clientMicrosPerPair,
        double allocatedBytesPerPair) {

    public static Sample of(Variant variant, List<RoundReport> reports, long millis, ServerUse use) {
        LongSummaryStatistics pairs =
                reports.stream().mapToLong(RoundReport::pairs).summaryStatistics();
        if (pairs.getSum() == 0) {
            throw new BrokenRunException(variant.name() + ": not one permit was acquired and released in a round");
        }
        Histogram acquires = merged(reports, RoundReport::acquires);
        Histogram handOvers = merged(reports, RoundReport::handOvers);
        double total = pairs.getSum();
        double held = sum(reports, RoundReport::heldNanos);
        int permits = (variant.limit() - variant.held()) * variant.names();
        return new Sample(
                total * 1_000 / millis,
                acquires.getValueAtPercentile(50) / 1e3,
                acquires.getValueAtPercentile(99) / 1e3,
                acquires.getMaxValue() / 1e6,
                100 * pairs.getMin() / total,
                100 * pairs.getMax() / total,
                100 * held / (millis * 1e6 * permits),
                handOvers.getTotalCount(),
                handOvers.getValueAtPercentile(50) / 1e3,
                use.commands() / total,
                use.cpuMicros() / total,
                sum(reports, RoundReport::cpuNanos) / 1e3 / total,
                sum(reports, RoundReport::allocatedBytes) / total);
    }

    private static double sum(List<RoundReport> reports, ToLongFunction<RoundReport> part) {
        return reports.stream().mapToLong(part).sum();
    }

    private static Histogram merged(List<RoundReport> reports, Function<RoundReport, Histogram> part) {
        Histogram sum = RoundReport.histogram();
        reports.stream().map(part).forEach(sum::add);
        return sum;
    }
}
