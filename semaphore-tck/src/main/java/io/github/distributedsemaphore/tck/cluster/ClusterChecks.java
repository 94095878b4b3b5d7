package io.github.distributedsemaphore.tck.cluster;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.tck.cluster.ClusterFigures.Strike;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.Operation;
import io.github.distributedsemaphore.tck.history.Violation;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * What counts as wrong in a history of a cluster. Where the backend declares that a strike may have two in one slot, they are not wrong if
 * the second one came because of the strike, and both held for no longer than declared. A slot above the limit is wrong; but there a
 * leader that is replaced may take the last change of the limit with it.
 */
final class ClusterChecks {
    private static final String RISING_EPOCHS = "7.1";
    private static final long FORGETTING_NANOS = Duration.ofSeconds(1).toNanos();

    private final Guarantees guarantees;
    private final ClusterFault fault;
    private final boolean oneLeader;
    private final List<Strike> strikes;
    /** Those that may have two in one slot. */
    private final List<Strike> exposing;

    /**
     * Judges by what a backend declares.
     *
     * @param fault what struck
     * @param oneLeader whether one node decides about all of a semaphore, so that the strikes tell whether another one took over
     * @param strikes when it struck
     */
    ClusterChecks(Guarantees guarantees, ClusterFault fault, boolean oneLeader, List<Strike> strikes) {
        this.guarantees = guarantees;
        this.fault = fault;
        this.oneLeader = oneLeader;
        this.strikes = strikes;
        this.exposing = strikes.stream()
                .filter(strike -> exposures(mayFailOver(strike)).findAny().isPresent())
                .toList();
    }

    List<Violation> violations(History history) {
        return HistoryChecks.violationsButRefusals(
                        forgetful(history), guarantees.has(Capability.FENCING), this::isExplained)
                .stream()
                .filter(violation -> !isOfReplacedNode(violation))
                .toList();
    }

    private boolean mayFailOver(Strike strike) {
        return strike.newLeader() || (!oneLeader && fault.strikesANode());
    }

    /** The overlaps that are declared for what a strike is for the clients. */
    private Stream<Exposure> exposures(boolean failedOver) {
        return fault.faults(failedOver).stream().map(guarantees::exposure).filter(Exposure::allowsOverlap);
    }

    /** Whether a strike explains that two held one slot. */
    private boolean isExplained(String process, long from, long to) {
        return to != Operation.NEVER
                && exposing.stream()
                        .anyMatch(strike -> exposures(mayFailOver(strike))
                                .anyMatch(exposure -> isExplained(strike, exposure, from, to)));
    }

    /** What was granted before the cluster was whole again, and is forgotten, is valid for a while longer. */
    private boolean isExplained(Strike strike, Exposure exposure, long from, long to) {
        Duration late = exposure.longest().orElse(guarantees.detectionMax());
        return exposure.covers(Duration.ofNanos(to - from))
                && from >= strike.begun()
                && from <= strike.whole() + late.toNanos();
    }

    /** Also where nobody took over: what passes on within a client may miss a change, and all of them come during strikes. */
    private History forgetful(History history) {
        if (exposures(fault.strikesANode()).findAny().isEmpty()) {
            return history;
        }
        return new History(
                history.limit(),
                history.operations().stream()
                        .map(it -> it.kind() == Operation.Kind.RESIZE && isShortBeforeOrInAStrike(it) ? unsure(it) : it)
                        .toList());
    }

    private boolean isShortBeforeOrInAStrike(Operation resize) {
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
    private boolean isOfReplacedNode(Violation violation) {
        boolean lower =
                violation.rule().equals(RISING_EPOCHS) && !violation.message().contains("is not unique");
        return lower
                && exposing.stream()
                        .anyMatch(strike -> strike.begun() < violation.at() && violation.at() < strike.whole());
    }
}
