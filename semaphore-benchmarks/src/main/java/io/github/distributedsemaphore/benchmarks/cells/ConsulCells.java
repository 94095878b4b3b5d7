package io.github.distributedsemaphore.benchmarks.cells;

import static io.github.distributedsemaphore.benchmarks.cells.Mode.COMMITS;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.GUIDE;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.SEMAPHORE;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.TRANSACTIONS;

import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** What is measured against Consul: everything on an agent in development mode, and on three servers. */
public final class ConsulCells {
    private static final String CLUSTER = "cluster-";
    private static final int CLUSTER_SIZE = 3;
    private static final long ROUND_MILLIS = 500;
    private static final long LONG_ROUND_MILLIS = 1_000;

    private static final String OURS = SEMAPHORE.label();

    private ConsulCells() {}

    /** How many servers a cell is measured against. */
    public static int serversOf(Cell cell) {
        return cell.name().startsWith(CLUSTER) ? CLUSTER_SIZE : 1;
    }

    public static List<Cell> all() {
        return Stream.of("dev-", CLUSTER).flatMap(ConsulCells::cells).toList();
    }

    private static Stream<Cell> cells(String where) {
        return Stream.of(
                new Cell(
                        where + "one-thread",
                        "one JVM, one thread, 3 permits",
                        1,
                        ROUND_MILLIS,
                        false,
                        variants(1, 3, variant -> variant, TRANSACTIONS),
                        List.of(pairs(3))),
                new Cell(
                        where + "crowd-scarce",
                        "one JVM, 32 threads, 3 permits",
                        1,
                        LONG_ROUND_MILLIS,
                        false,
                        variants(32, 3, variant -> variant),
                        List.of(pairs(20))),
                new Cell(
                        where + "hand-over",
                        "2 JVMs of one thread, 1 permit, held for 20 ms: from release in one until acquired in the other",
                        2,
                        LONG_ROUND_MILLIS,
                        false,
                        variants(1, 1, variant -> variant.holding(20_000)),
                        List.of(Target.atMost(10, "ms beyond two commits", ConsulCells::beyondTwoCommits))),
                new Cell(
                        where + "processes-scarce",
                        "4 JVMs of 8 threads, 3 permits, held for 1 ms",
                        4,
                        LONG_ROUND_MILLIS,
                        false,
                        List.of(Variant.of(SEMAPHORE, 8, 3).holding(1_000)),
                        List.of(
                                Target.atLeast(
                                        where.equals(CLUSTER) ? 40 : 60,
                                        "% of the permits' time used",
                                        result -> result.figure(OURS, Sample::usedPercent)),
                                Target.atMost(
                                        200,
                                        "ms for the longest wait",
                                        result -> result.figure(OURS, Sample::worstMillis)),
                                Target.atLeast(
                                        12,
                                        "% of the pairs for each JVM",
                                        result -> result.figure(OURS, Sample::smallestShare)))));
    }

    /** The same load for everybody. */
    private static List<Variant> variants(int threads, int limit, UnaryOperator<Variant> load, Mode... more) {
        return Stream.concat(Stream.of(SEMAPHORE, GUIDE, COMMITS), Stream.of(more))
                .map(mode -> load.apply(Variant.of(mode, threads, limit)))
                .toList();
    }

    private static Target pairs(double factor) {
        Function<CellResult, Series> ratio =
                result -> result.ratio(OURS, List.of(GUIDE.label()), true, Sample::pairsPerSecond);
        return Target.atLeast(factor, "x the pairs/s of the guide's algorithm", ratio);
    }

    /** A commit is what a bare write takes in the same round. */
    private static Series beyondTwoCommits(CellResult result) {
        List<Double> handOvers = result.figure(OURS, Sample::handOverMicros).values();
        List<Double> commits = result.figure(COMMITS.label(), Sample::p50Micros).values();
        return new Series(IntStream.range(0, handOvers.size())
                .mapToObj(round -> (handOvers.get(round) - 2 * commits.get(round)) / 1e3)
                .toList());
    }
}
