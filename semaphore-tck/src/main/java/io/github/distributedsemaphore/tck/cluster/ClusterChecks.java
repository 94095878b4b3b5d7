package io.github.distributedsemaphore.tck.cluster;

import io.github.distributedsemaphore.tck.cluster.ClusterFigures.Strike;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.Operation;
import io.github.distributedsemaphore.tck.history.Violation;
import java.time.Duration;
import java.util.List;

/** What counts as wrong in a history of a cluster. */
final class ClusterChecks {
    private static final String RISING_EPOCHS = "7.1";
    private static final long FORGETTING_NANOS = Duration.ofSeconds(1).toNanos();

    private ClusterChecks() {}

    /**
     * Where the fault may have two in one slot they are not wrong. A slot above the limit is; but there a leader that is replaced may
     * take the last change of the limit with it.
     */
    static List<Violation> violations(History history, boolean fencing, boolean exposed, List<Strike> strikes) {
        return exposed
                ? HistoryChecks.violationsButOverlaps(forgetful(history, strikes), fencing).stream()
                        .filter(violation -> !isOfReplacedNode(violation, strikes))
                        .toList()
                : HistoryChecks.violationsButRefusals(history, fencing);
    }

    private static History forgetful(History history, List<Strike> strikes) {
        return new History(
                history.limit(),
                history.operations().stream()
                        .map(it ->
                                it.kind() == Operation.Kind.RESIZE && isShortBeforeOrIn(it, strikes) ? unsure(it) : it)
                        .toList());
    }

    private static boolean isShortBeforeOrIn(Operation resize, List<Strike> strikes) {
        return strikes.stream()
                .anyMatch(strike ->
                        resize.returned() > strike.begun() - FORGETTING_NANOS && resize.invoked() < strike.whole());
    }

    private static Operation unsure(Operation it) {
        return new Operation(
                it.process(),
                it.kind(),
                it.invoked(),
                it.returned(),
                Operation.Outcome.UNKNOWN,
                it.count(),
                it.slots(),
                it.sureUntil());
    }

    /**
     * Where two nodes grant at a time, the one that was replaced gives out epochs below those of the other: by them a resource that
     * compares fences turns its clients away.
     */
    private static boolean isOfReplacedNode(Violation violation, List<Strike> strikes) {
        boolean lower =
                violation.rule().equals(RISING_EPOCHS) && !violation.message().contains("is not unique");
        return lower
                && strikes.stream()
                        .anyMatch(strike -> strike.begun() < violation.at() && violation.at() < strike.whole());
    }
}
