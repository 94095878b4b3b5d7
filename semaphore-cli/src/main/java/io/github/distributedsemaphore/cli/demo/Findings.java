package io.github.distributedsemaphore.cli.demo;

import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.support.Durations;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;

/**
 * What a demonstration showed, measured against what the backend promises. Pure: everything comes from the ledger.
 *
 * @param grants how many permits were granted
 * @param mostAtOnce the most permits that were surely held at one instant
 * @param waits how long the workers waited, in nanoseconds
 * @param longestIdle the longest time between a release and the next grant of the same slot, in nanoseconds
 * @param takeover from the death of the killed holder to the next grant of its slot, in nanoseconds; empty if there was
 *     none
 * @param broken what was promised and did not hold, a sentence each
 */
record Findings(
        int grants, int mostAtOnce, Histogram waits, long longestIdle, OptionalLong takeover, List<String> broken) {
    /** What a worker may need beyond the backend's bound to notice a free slot: its pause, and a turn on a busy core. */
    static final Duration IDLE_ALLOWANCE = Duration.ofMillis(1000 + WorkerCommand.MAX_PAUSE_MILLIS);

    static Findings of(Ledger ledger, Guarantees promised, int slots, int workers) {
        List<Turn> turns = ledger.turns();
        int mostAtOnce = mostAtOnce(turns);
        long longestIdle = longestIdle(turns, ledger);
        OptionalLong takeover = takeover(ledger);
        List<String> broken = new ArrayList<>(ledger.failures());
        if (mostAtOnce > slots) {
            broken.add(mostAtOnce + " held the semaphore at once; its limit is " + slots);
        }
        broken.addAll(slotFaults(turns));
        if (longestIdle > promised.wakeUpBound().plus(IDLE_ALLOWANCE).toNanos()) {
            broken.add("a free slot was given to nobody for " + millis(longestIdle)
                    + ", though somebody waited; promised is " + Durations.format(promised.wakeUpBound()));
        }
        takeoverFault(ledger, takeover, promised).ifPresent(broken::add);
        Set<Integer> served = turns.stream().map(Turn::worker).collect(Collectors.toSet());
        IntStream.rangeClosed(1, workers)
                .filter(worker -> !served.contains(worker))
                .forEach(worker -> broken.add("worker " + worker + " was never served"));
        return new Findings(
                turns.size(), mostAtOnce, histogram(ledger.waits()), longestIdle, takeover, List.copyOf(broken));
    }

    private static Histogram histogram(List<Long> nanos) {
        Histogram histogram = new Histogram(3);
        nanos.forEach(value -> histogram.recordValue(Math.max(0, value)));
        return histogram;
    }

    private static int mostAtOnce(List<Turn> turns) {
        int most = 0;
        for (Turn turn : turns) {
            // The number of turns rises only where one begins.
            int atOnce = (int) turns.stream()
                    .filter(other -> other.from() <= turn.from() && other.until() > turn.from())
                    .count();
            most = Math.max(most, atOnce);
        }
        return most;
    }

    private static List<String> slotFaults(List<Turn> turns) {
        List<String> faults = new ArrayList<>();
        Map<Integer, Turn> last = new HashMap<>();
        for (Turn turn : turns) {
            Turn before = last.put(turn.slot(), turn);
            if (before == null) {
                continue;
            }
            if (before.until() > turn.from()) {
                faults.add("workers " + before.worker() + " and " + turn.worker() + " held slot " + turn.slot()
                        + " at once");
            }
            if (turn.epoch() >= 0 && turn.epoch() <= before.epoch()) {
                faults.add("epoch " + turn.epoch() + " of slot " + turn.slot() + " came after " + before.epoch());
            }
        }
        return faults;
    }

    /** The slot of the killed holder is left out for the time until its takeover, which is measured by itself. */
    private static long longestIdle(List<Turn> turns, Ledger ledger) {
        Map<Integer, List<Turn>> bySlot = turns.stream().collect(Collectors.groupingBy(Turn::slot));
        long longest = 0;
        for (List<Turn> inSlot : bySlot.values()) {
            for (int i = 1; i < inSlot.size(); i++) {
                Turn before = inSlot.get(i - 1);
                boolean byKill = ledger.killed().filter(before::equals).isPresent();
                longest = byKill ? longest : Math.max(longest, inSlot.get(i).from() - before.until());
            }
        }
        return longest;
    }

    private static OptionalLong takeover(Ledger ledger) {
        return ledger.takeover().stream()
                .flatMapToLong(turn -> ledger.killed().stream().mapToLong(dead -> turn.from() - dead.until()))
                .findFirst();
    }

    private static Optional<String> takeoverFault(Ledger ledger, OptionalLong takeover, Guarantees promised) {
        if (ledger.killed().isEmpty()) {
            return Optional.of("no holder could be killed: none kept its permit");
        }
        Duration bound = takeoverBound(promised);
        if (takeover.isEmpty()) {
            return Optional.of("the slot of the killed holder was never granted again");
        }
        return takeover.getAsLong() <= bound.toNanos()
                ? Optional.empty()
                : Optional.of("the slot of the killed holder was granted after " + millis(takeover.getAsLong())
                        + "; promised is " + Durations.format(bound));
    }

    static Duration takeoverBound(Guarantees promised) {
        return promised.detectionMax().plus(promised.wakeUpBound());
    }

    static String millis(long nanos) {
        return String.format(Locale.ROOT, nanos < 10_000_000 ? "%.1f ms" : "%.0f ms", nanos / 1e6);
    }
}
