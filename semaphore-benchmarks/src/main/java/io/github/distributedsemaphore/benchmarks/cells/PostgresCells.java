package io.github.distributedsemaphore.benchmarks.cells;

import static io.github.distributedsemaphore.benchmarks.cells.Mode.ADVISORY_LOCKS;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.SEMAPHORE;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.UPDATES;

import java.util.List;
import java.util.stream.Stream;

/** What is measured against PostgreSQL. */
public final class PostgresCells {
    private static final long ROUND_MILLIS = 1_000;
    private static final long LONG_ROUND_MILLIS = 2_000;

    private static final String OURS = SEMAPHORE.label();

    private PostgresCells() {}

    public static List<Cell> all() {
        return List.of(
                new Cell(
                        "one-thread",
                        "one JVM, one thread, 3 permits",
                        1,
                        ROUND_MILLIS,
                        false,
                        variants(1, 3, 0),
                        List.of(pairs(0.8))),
                new Cell(
                        "crowd-scarce",
                        "one JVM, 32 threads, 3 permits",
                        1,
                        LONG_ROUND_MILLIS,
                        false,
                        // What 32 threads write side by side shares its commits: the measure is what one thread does.
                        Stream.concat(
                                        variants(32, 3, 0).stream().filter(variant -> variant.mode() != UPDATES),
                                        Stream.of(Variant.of(UPDATES, 1, 3)))
                                .toList(),
                        List.of(pairs(20))),
                new Cell(
                        "processes-scarce",
                        "4 JVMs of 8 threads, 3 permits, held for 1 ms",
                        4,
                        LONG_ROUND_MILLIS,
                        false,
                        List.of(
                                Variant.of(SEMAPHORE, 8, 3).holding(1_000),
                                Variant.of(ADVISORY_LOCKS, 8, 3).holding(1_000)),
                        List.of(
                                Target.atLeast(
                                        60,
                                        "% of the permits' time",
                                        result -> result.figure(OURS, Sample::usedPercent)),
                                Target.atLeast(
                                        10,
                                        "% of the pairs for each JVM",
                                        result -> result.figure(OURS, Sample::smallestShare)))),
                new Cell(
                        "hand-over",
                        "2 JVMs of one thread, 1 permit, held for 20 ms: from release in one until acquired in the other",
                        2,
                        LONG_ROUND_MILLIS,
                        false,
                        List.of(
                                Variant.of(SEMAPHORE, 1, 1).holding(20_000),
                                Variant.of(ADVISORY_LOCKS, 1, 1).holding(20_000)),
                        List.of(Target.atMost(
                                1,
                                "x the median hand-over of advisory locks that are polled every 10 ms",
                                result -> result.ratio(
                                        OURS, List.of(ADVISORY_LOCKS.label()), false, Sample::handOverMicros)))));
    }

    private static List<Variant> variants(int threads, int limit, long holdMicros) {
        return Stream.of(SEMAPHORE, UPDATES, ADVISORY_LOCKS)
                .map(mode -> Variant.of(mode, threads, limit).holding(holdMicros))
                .toList();
    }

    private static Target pairs(double factor) {
        return Target.atLeast(
                factor,
                "x the pairs/s of two bare UPDATEs of one thread",
                result -> result.ratio(OURS, List.of(UPDATES.label()), true, Sample::pairsPerSecond));
    }
}
