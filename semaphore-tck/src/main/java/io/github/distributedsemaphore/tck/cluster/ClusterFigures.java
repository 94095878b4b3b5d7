package io.github.distributedsemaphore.tck.cluster;

import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.Operation;
import io.github.distributedsemaphore.tck.history.Operation.Kind;
import io.github.distributedsemaphore.tck.history.Operation.Outcome;
import io.github.distributedsemaphore.tck.history.Violation;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a history of a cluster came to.
 *
 * @param fault what struck
 * @param strikes how often
 * @param newLeaders after how many strikes another node led
 * @param repairs how often the cluster did not become whole, or did not free all permits, by itself
 * @param millis how long it took
 * @param grants how many permits were granted
 * @param failures how many calls failed, with certainty that nothing was done
 * @param unknowns of how many calls nobody knows what became of them
 * @param grantsPerSecond how many permits were granted in a second, outages left out
 * @param outageMedianMillis for how long nobody was granted anything because of a strike: the median of all strikes
 * @param outageWorstMillis the same: the longest
 * @param heldOver how many permits were taken before a strike and released after permits were granted again
 * @param keptOver how many of them their holders kept
 * @param overlaps how many pairs of holders were entitled to one slot at one time
 * @param longestOverlapMillis for how long at most
 * @param aboveLimit how many slots were granted above a limit that was set, which a fail-over may undo
 * @param violations what breaks a rule beyond what the backend declares
 */
record ClusterFigures(
        String fault,
        int strikes,
        long newLeaders,
        int repairs,
        long millis,
        long grants,
        long failures,
        long unknowns,
        double grantsPerSecond,
        long outageMedianMillis,
        long outageWorstMillis,
        long heldOver,
        long keptOver,
        int overlaps,
        long longestOverlapMillis,
        int aboveLimit,
        int violations) {
    private static final double MILLIS = 1_000_000;

    /**
     * A fault from its beginning to when the cluster was whole again, on the scale of {@link System#nanoTime}.
     *
     * @param begun when it began
     * @param healed when it ended
     * @param whole when the cluster was whole again
     * @param newLeader whether another node led at its end, or when the cluster was whole again
     */
    record Strike(long begun, long healed, long whole, boolean newLeader) {}

    /** The longest time in which nobody was granted anything because of a strike. */
    private record Outage(Strike strike, long from, long to) {
        long length() {
            return to - from;
        }
    }

    static ClusterFigures of(
            ClusterFault fault, List<Strike> strikes, int repairs, History history, Duration length, int violations) {
        List<Outage> outages = strikes.stream()
                .map(strike -> outage(history, strike))
                .sorted(Comparator.comparingLong(Outage::length))
                .toList();
        long out = covered(outages);
        long grants = history.operations().stream().filter(Operation::isGrant).count();
        List<Boolean> over = heldOver(history, outages);
        return new ClusterFigures(
                fault.name(),
                strikes.size(),
                strikes.stream().filter(Strike::newLeader).count(),
                repairs,
                length.toMillis(),
                grants,
                count(history, Outcome.FAILED),
                count(history, Outcome.UNKNOWN),
                Math.round(grants * 10e9 / Math.max(1, length.toNanos() - out)) / 10.0,
                millis(outages.get(outages.size() / 2).length()),
                millis(outages.get(outages.size() - 1).length()),
                over.size(),
                over.stream().filter(kept -> kept).count(),
                HistoryChecks.overlaps(history),
                HistoryChecks.longestOverlap(history).toMillis(),
                HistoryChecks.grantsAboveLimit(history),
                violations);
    }

    /** An outage may outlast the next strike, which has the same outage then. */
    private static long covered(List<Outage> outages) {
        List<Outage> inOrder =
                outages.stream().sorted(Comparator.comparingLong(Outage::from)).toList();
        long covered = 0;
        long end = inOrder.get(0).from();
        for (Outage outage : inOrder) {
            covered += Math.max(0, outage.to() - Math.max(outage.from(), end));
            end = Math.max(end, outage.to());
        }
        return covered;
    }

    private static long millis(long nanos) {
        return Math.round(nanos / MILLIS);
    }

    private static long count(History history, Outcome outcome) {
        return history.operations().stream()
                .filter(operation -> operation.kind() == Kind.ACQUIRE || operation.kind() == Kind.TRY)
                .filter(operation -> operation.outcome() == outcome)
                .count();
    }

    /** Looks between the beginning of a strike and when the cluster was whole again. */
    private static Outage outage(History history, Strike strike) {
        List<Long> granted = history.operations().stream()
                .filter(Operation::isGrant)
                .map(Operation::returned)
                .filter(at -> at > strike.begun())
                .sorted()
                .toList();
        Outage longest = new Outage(strike, strike.begun(), strike.begun());
        long last = strike.begun();
        for (long at : granted) {
            longest = at - last > longest.length() ? new Outage(strike, last, at) : longest;
            last = at;
            if (at > strike.whole()) {
                break;
            }
        }
        return longest;
    }

    /** For each permit that was taken before a strike and released after the outage: whether its holder kept it. */
    private static List<Boolean> heldOver(History history, List<Outage> outages) {
        Map<Long, Operation> grants = new HashMap<>();
        history.operations().stream()
                .filter(Operation::isGrant)
                .forEach(grant -> grant.slots().forEach(slot -> grants.put(slot.hold(), grant)));
        return history.operations().stream()
                .filter(operation -> operation.kind() == Kind.RELEASE)
                .filter(release -> spans(grants.get(release.slots().get(0).hold()), release, outages))
                .map(release -> release.outcome() != Outcome.FAILED && release.sureUntil() >= release.invoked())
                .toList();
    }

    private static boolean spans(@Nullable Operation grant, Operation release, List<Outage> outages) {
        return grant != null
                && outages.stream()
                        .anyMatch(outage ->
                                grant.returned() < outage.strike().begun() && release.invoked() > outage.to());
    }

    /** Says it in a line. */
    String line(List<Violation> found) {
        return String.format(
                Locale.ROOT,
                "%s: %d strikes, %d new leaders, %d grants (%.1f a second), nobody was granted anything for %d ms (median)"
                        + " and %d ms (longest), %d of %d permits kept, %d overlaps of at most %d ms, %d slots above the limit, %d violations%s",
                fault,
                strikes,
                newLeaders,
                grants,
                grantsPerSecond,
                outageMedianMillis,
                outageWorstMillis,
                keptOver,
                heldOver,
                overlaps,
                longestOverlapMillis,
                aboveLimit,
                violations,
                found.isEmpty() ? "" : ": " + found.get(0));
    }
}
