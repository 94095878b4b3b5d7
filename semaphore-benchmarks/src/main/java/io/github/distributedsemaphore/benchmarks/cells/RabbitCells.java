package io.github.distributedsemaphore.benchmarks.cells;

import static io.github.distributedsemaphore.benchmarks.cells.Mode.DECLARE_AND_CONFIRM;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.ONE_FREE;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.ONE_FREE_SPECIFICATION;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.REFUSED;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.ROUND_TRIP;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.SEMAPHORE;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.SPECIFICATION;

import java.util.List;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** What is measured against RabbitMQ. */
public final class RabbitCells {
    private static final long ROUND_MILLIS = 1_000;
    private static final long LONG_ROUND_MILLIS = 2_000;
    private static final long SEARCH_ROUND_MILLIS = 5_000;

    private static final long HOLD_MICROS = 1_000;

    private RabbitCells() {}

    public static List<Cell> all() {
        return List.of(
                new Cell(
                        "one-free",
                        "one JVM, one thread, 1000 slots of which another one is free each time",
                        1,
                        SEARCH_ROUND_MILLIS,
                        false,
                        List.of(Variant.of(ONE_FREE, 1, 1000), Variant.of(ONE_FREE_SPECIFICATION, 1, 1000)),
                        List.of(atMost(
                                0.1, "x the median acquire of the specification", ONE_FREE, ONE_FREE_SPECIFICATION))),
                new Cell(
                        "remembered",
                        "one JVM, one thread, 10 slots",
                        1,
                        ROUND_MILLIS,
                        false,
                        List.of(Variant.of(SEMAPHORE, 1, 10), Variant.of(DECLARE_AND_CONFIRM, 1, 10)),
                        List.of(atMost(
                                1.3, "x the median of a declaration and a confirm", SEMAPHORE, DECLARE_AND_CONFIRM))),
                new Cell(
                        "crowd-scarce",
                        "one JVM, 32 threads, 3 slots",
                        1,
                        LONG_ROUND_MILLIS,
                        false,
                        List.of(Variant.of(SEMAPHORE, 32, 3), Variant.of(SPECIFICATION, 32, 3)),
                        List.of(Target.atLeast(
                                10,
                                "x the pairs/s of the specification",
                                result -> result.ratio(
                                        SEMAPHORE.label(),
                                        List.of(SPECIFICATION.label()),
                                        true,
                                        Sample::pairsPerSecond)))),
                new Cell(
                        "processes-scarce",
                        "4 JVMs of 8 threads, 3 slots, held for 1 ms",
                        4,
                        LONG_ROUND_MILLIS,
                        false,
                        List.of(
                                Variant.of(SEMAPHORE, 8, 3).holding(HOLD_MICROS),
                                Variant.of(SPECIFICATION, 8, 3).holding(HOLD_MICROS)),
                        List.of(
                                Target.atLeast(60, "% of the permits' time used", ours(Sample::usedPercent)),
                                Target.atMost(150, "ms for the longest wait", ours(Sample::worstMillis)),
                                Target.atLeast(12, "% of the pairs for each JVM", ours(Sample::smallestShare)))),
                new Cell(
                        "full",
                        "one JVM, one thread, 100 slots that are all held: from tryAcquire to its refusal",
                        1,
                        ROUND_MILLIS,
                        false,
                        List.of(Variant.of(REFUSED, 1, 100), Variant.of(ROUND_TRIP, 1, 100)),
                        List.of(atMost(3, "x the median of a publish and its confirm", REFUSED, ROUND_TRIP))));
    }

    private static Function<CellResult, Series> ours(ToDoubleFunction<Sample> figure) {
        return result -> result.figure(SEMAPHORE.label(), figure);
    }

    private static Target atMost(double factor, String claim, Mode ours, Mode theirs) {
        ToDoubleFunction<Sample> median = Sample::p50Micros;
        return Target.atMost(
                factor, claim, result -> result.ratio(ours.label(), List.of(theirs.label()), false, median));
    }
}
