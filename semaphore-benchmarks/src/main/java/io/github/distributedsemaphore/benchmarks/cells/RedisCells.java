package io.github.distributedsemaphore.benchmarks.cells;

import static io.github.distributedsemaphore.benchmarks.cells.Mode.FLOOR;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.HANDING_OVER;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.REDISSON;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.REDISSON_EXPIRABLE;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.SEMAPHORE;
import static io.github.distributedsemaphore.benchmarks.cells.Mode.STREAM;

import java.util.List;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** What is measured against Redis. */
public final class RedisCells {
    private static final int PLENTY = 1_000;
    private static final long ROUND_MILLIS = 400;
    private static final long LONG_ROUND_MILLIS = 1_000;

    private static final String OURS = SEMAPHORE.label();
    private static final List<String> PEERS = List.of(REDISSON.label(), REDISSON_EXPIRABLE.label());

    private RedisCells() {}

    public static List<Cell> all() {
        return List.of(
                oneThread(),
                crowd("crowd-free", "one JVM, 32 threads, 1000 permits", PLENTY, 8),
                crowd("crowd-scarce", "one JVM, 32 threads, 3 permits", 3, 20),
                processesScarce(),
                cell(
                        "connections-free",
                        "16 connections of one thread each, 1000 permits",
                        1,
                        ROUND_MILLIS,
                        sidesAnd(STREAM, 16, PLENTY, Variant::withOwnClients),
                        List.of(pairs(1.2))),
                cell(
                        "connections-scarce",
                        "16 connections of one thread each, 3 permits",
                        1,
                        ROUND_MILLIS,
                        sidesAnd(HANDING_OVER, 16, 3, Variant::withOwnClients),
                        List.of(pairs(0.9), longestWait())),
                cell(
                        "processes-free",
                        "4 JVMs of 8 threads, 1000 permits",
                        4,
                        ROUND_MILLIS,
                        sides(8, PLENTY, variant -> variant),
                        List.of(pairs(20))),
                handOver(),
                slots(),
                idleClients());
    }

    private static Cell oneThread() {
        return cell(
                "one-thread",
                "one JVM, one thread, 1000 permits",
                1,
                ROUND_MILLIS,
                sidesAnd(STREAM, 1, PLENTY, variant -> variant),
                List.of(
                        pairs(1),
                        Target.atLeast(
                                1.2,
                                "x the pairs/s of redisson-expirable",
                                ratio(List.of(REDISSON_EXPIRABLE.label()), true, Sample::pairsPerSecond)),
                        Target.atLeast(
                                0.9,
                                "x the pairs/s of the bare commands of a pair",
                                ratio(List.of(STREAM.label()), true, Sample::pairsPerSecond)),
                        Target.atLeast(
                                0.95,
                                "x the pairs/s of two bare SETs",
                                ratio(List.of(FLOOR.label()), true, Sample::pairsPerSecond))));
    }

    private static Cell crowd(String name, String title, int limit, double factor) {
        return cell(
                name,
                title,
                1,
                ROUND_MILLIS,
                sides(32, limit, variant -> variant),
                List.of(pairs(factor), longestWait()));
    }

    private static Cell processesScarce() {
        return cell(
                "processes-scarce",
                "4 JVMs of 8 threads, 3 permits, held for 1 ms",
                4,
                LONG_ROUND_MILLIS,
                sidesAnd(HANDING_OVER, 8, 3, variant -> variant.holding(1_000)),
                List.of(
                        Target.atLeast(85, "% of the permits' time used", ours(Sample::usedPercent)),
                        Target.atMost(
                                0.125,
                                "x the longest wait of the better Redisson",
                                ratio(PEERS, false, Sample::worstMillis)),
                        Target.atLeast(15, "% of the pairs for each JVM", ours(Sample::smallestShare)),
                        Target.atMost(35, "% of the pairs for any JVM", ours(Sample::largestShare))));
    }

    private static Cell handOver() {
        return cell(
                "hand-over",
                "2 JVMs of one thread, 1 permit, held for 8 ms: from release in one until acquired in the other",
                2,
                LONG_ROUND_MILLIS,
                List.of(
                        Variant.of(SEMAPHORE, 1, 1).holding(8_000),
                        Variant.of(HANDING_OVER, 1, 1).holding(8_000),
                        Variant.of(REDISSON, 1, 1).holding(8_000),
                        Variant.of(REDISSON_EXPIRABLE, 1, 1).holding(8_000)),
                List.of(Target.atMost(
                        0.7, "x the median of the better Redisson", ratio(PEERS, false, Sample::handOverMicros))));
    }

    private static Cell slots() {
        List<Variant> sizes = Stream.of(1, 100, 10_000)
                .map(slots -> Variant.of(SEMAPHORE, 1, slots)
                        .besides(slots / 2, 0)
                        .named(slots == 1 ? "1 slot" : slots + " slots"))
                .toList();
        return new Cell(
                "slots",
                "one JVM, one thread; 1, 100 and 10000 slots, half of them held by another client",
                1,
                ROUND_MILLIS,
                false,
                sizes,
                List.of(withinFirst(1.3, sizes.get(1), sizes.get(0)), withinFirst(1.3, sizes.get(2), sizes.get(0))));
    }

    private static Cell idleClients() {
        Variant alone = Variant.of(SEMAPHORE, 1, 2).named("alone");
        Variant watched = alone.besides(0, 10_000).named("10000 idle clients");
        Variant names = alone.besides(0, 5_000).overNames(1_000).named("1000 names, 5 idle clients each");
        return new Cell(
                "idle-clients",
                "one JVM, one thread, 2 permits; connections of idle clients with armed watches, and many names in turn",
                1,
                ROUND_MILLIS,
                true,
                List.of(alone, watched, names),
                List.of(withinFirst(1.3, watched, alone), withinFirst(2, names, alone)));
    }

    private static Cell cell(
            String name, String title, int processes, long millis, List<Variant> variants, List<Target> targets) {
        return new Cell(name, title, processes, millis, false, variants, targets);
    }

    /** The same load for everybody. */
    private static List<Variant> sides(int threads, int limit, UnaryOperator<Variant> load) {
        return Stream.of(SEMAPHORE, REDISSON, REDISSON_EXPIRABLE, FLOOR)
                .map(mode -> load.apply(Variant.of(mode, threads, limit)))
                .toList();
    }

    /** The same, and one more. */
    private static List<Variant> sidesAnd(Mode another, int threads, int limit, UnaryOperator<Variant> load) {
        return Stream.concat(
                        sides(threads, limit, load).stream(),
                        Stream.of(load.apply(Variant.of(another, threads, limit))))
                .toList();
    }

    private static Target pairs(double factor) {
        return Target.atLeast(
                factor, "x the pairs/s of the better Redisson", ratio(PEERS, true, Sample::pairsPerSecond));
    }

    private static Target longestWait() {
        return Target.atMost(1, "x the longest wait of the better Redisson", ratio(PEERS, false, Sample::worstMillis));
    }

    private static Target withinFirst(double factor, Variant variant, Variant first) {
        return Target.atMost(
                factor,
                "x the median acquire of '" + first.name() + "' for '" + variant.name() + "'",
                result -> result.ratio(variant.name(), List.of(first.name()), false, Sample::p50Micros));
    }

    private static Function<CellResult, Series> ours(ToDoubleFunction<Sample> figure) {
        return result -> result.figure(OURS, figure);
    }

    private static Function<CellResult, Series> ratio(
            List<String> others, boolean moreIsBetter, ToDoubleFunction<Sample> figure) {
        return result -> result.ratio(OURS, others, moreIsBetter, figure);
    }
}
