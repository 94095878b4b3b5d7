package io.github.distributedsemaphore.tck.history;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The checks of a history. */
public final class HistoryChecks {
    private static final int SHOWN = 5;
    private static final String LATE = "1.9";

    private HistoryChecks() {}

    /**
     * Finds what breaks safety, fencing, refusals and loss. What passes when each call is judged alone is judged as a whole:
     * there must be an order of all calls that explains them. If that cannot be decided it counts as a violation too.
     *
     * @param history what happened
     * @param fencing whether the epochs mean something
     * @param detection how long the permit of a dead holder may stay taken
     * @return what is wrong; empty if nothing
     */
    public static List<Violation> violations(History history, boolean fencing, Duration detection) {
        return violations(history, fencing, detection, LinearizabilitySearch.BUDGET);
    }

    static List<Violation> violations(History history, boolean fencing, Duration detection, int budget) {
        List<Violation> violations = violationsButRefusals(history, fencing);
        violations.addAll(RefusalCheck.check(history, detection.toNanos()));
        if (violations.isEmpty()) {
            violations.addAll(LinearizabilitySearch.check(history, detection.toNanos(), fencing, budget));
        }
        return violations;
    }

    /**
     * Finds what breaks safety, fencing and loss, where refusals cannot be judged.
     *
     * @param history what happened
     * @param fencing whether the epochs mean something
     * @return what is wrong; empty if nothing
     */
    public static List<Violation> violationsButRefusals(History history, boolean fencing) {
        return with(OverlapCheck.check(history), history, fencing);
    }

    /**
     * Finds what breaks safety, fencing and loss, where refusals cannot be judged and a fault may make two hold one slot.
     *
     * @param history what happened
     * @param fencing whether the epochs mean something
     * @param excuse which overlaps a fault explains
     * @return what is wrong; empty if nothing
     */
    public static List<Violation> violationsButRefusals(History history, boolean fencing, Excuse excuse) {
        return with(OverlapCheck.check(history, excuse), history, fencing);
    }

    /** Which overlaps a fault explains. */
    @FunctionalInterface
    public interface Excuse {
        /**
         * Tells whether a fault explains that two held one slot.
         *
         * @param process the process that held it first
         * @param from when the other one began to hold it
         * @param to when one of them ended; {@link Operation#NEVER} if none did
         * @return whether both may have
         */
        boolean covers(String process, long from, long to);
    }

    private static List<Violation> with(List<Violation> unsafe, History history, boolean fencing) {
        List<Violation> violations = new ArrayList<>(unsafe);
        violations.addAll(wrongLosses(history));
        if (fencing) {
            violations.addAll(FenceCheck.check(history));
        }
        return violations;
    }

    /** A loss is reported at most once, and never for a permit that was released before. */
    private static List<Violation> wrongLosses(History history) {
        Map<Long, Operation> ended = new HashMap<>();
        List<Violation> violations = new ArrayList<>();
        for (Operation operation : history.operations()) {
            boolean loss = operation.kind() == Operation.Kind.LOSS;
            boolean release =
                    operation.kind() == Operation.Kind.RELEASE && operation.outcome() != Operation.Outcome.FAILED;
            if (!loss && !release) {
                continue;
            }
            for (HeldSlot held : operation.slots()) {
                Operation before = ended.putIfAbsent(held.hold(), operation);
                if (loss && before != null && before.kind() == Operation.Kind.LOSS) {
                    violations.add(new Violation(
                            "6.4",
                            operation.invoked(),
                            "the loss of " + held + " was told twice: " + before.line() + " and " + operation.line()));
                } else if (loss && before != null && before.returned() < operation.invoked()) {
                    violations.add(new Violation(
                            "6.5",
                            operation.invoked(),
                            "the loss of " + held + " was told after its release: " + before.line() + " and "
                                    + operation.line()));
                }
            }
        }
        return violations;
    }

    /**
     * A permit that was lost, or was over when it was handed over.
     *
     * @param violation the rule that this breaks where nothing explains it
     * @param from when the permit was asked for
     * @param to when it was found
     * @param sureNanos for how long the permit was sure when it was granted; {@link Operation#NEVER} if without end
     */
    public record Loss(Violation violation, long from, long to, long sureNanos) {
        private static Loss of(String rule, String what, Operation found, @Nullable Operation grant) {
            long at = rule.equals(LATE) ? found.returned() : found.invoked();
            Violation violation = new Violation(rule, at, what + ": " + found.line());
            if (grant == null) {
                return new Loss(violation, found.invoked(), found.returned(), 0);
            }
            boolean endless = grant.sureUntil() == Operation.NEVER;
            long sure = endless ? Operation.NEVER : Math.max(0, grant.sureUntil() - grant.returned());
            return new Loss(violation, grant.invoked(), found.returned(), sure);
        }

        /**
         * Returns the validity by whose share a pause explains the loss.
         *
         * @param least what it is at least: a grant that was sure for next to no time is no excuse for each short pause
         * @return zero if the permit was without end, which no pause takes
         */
        public Duration validity(Duration least) {
            return sureNanos == Operation.NEVER
                    ? Duration.ZERO
                    : Duration.ofNanos(Math.max(sureNanos, least.toNanos()));
        }
    }

    /**
     * Finds the losses, and the grants that were not valid when they were handed over. There may be none of them where no fault strikes
     * and the machine does not stand still.
     *
     * @param history what happened
     * @return each notice of a loss, each release of what was lost by then, and each grant that came too late
     */
    public static List<Loss> losses(History history) {
        Map<Long, Operation> grants = new HashMap<>();
        history.operations().stream()
                .filter(Operation::isGrant)
                .forEach(grant -> grant.slots().forEach(held -> grants.put(held.hold(), grant)));
        List<Loss> losses = new ArrayList<>();
        for (Operation operation : history.operations()) {
            boolean told = operation.kind() == Operation.Kind.LOSS;
            boolean found =
                    operation.kind() == Operation.Kind.RELEASE && operation.outcome() == Operation.Outcome.FAILED;
            if (told || found) {
                // What is released together was granted together.
                Operation grant = grants.get(operation.slots().get(0).hold());
                losses.add(Loss.of("6.5", "a permit was lost without a fault", operation, grant));
            } else if (isLate(operation)) {
                losses.add(
                        Loss.of(LATE, "a permit was handed over after the end of its validity", operation, operation));
            }
        }
        return losses;
    }

    /** Its time is not definite, so that no other check sees it. */
    private static boolean isLate(Operation operation) {
        return operation.isGrant() && operation.sureUntil() < operation.returned();
    }

    /**
     * Shows that a history breaks no rule.
     *
     * @param history what happened
     * @param violations what was found in it
     * @throws AssertionError if it does, naming the rules, the instants and the holders
     */
    public static void assertValid(History history, List<Violation> violations) {
        if (!violations.isEmpty()) {
            throw new AssertionError(violations.size() + " violations in "
                    + history.operations().size() + " operations:\n"
                    + violations.stream().limit(SHOWN).map(Violation::toString).collect(Collectors.joining("\n")));
        }
    }

    /**
     * Shows that a run could have failed: that permits were granted, refused or waited for, and released, and that as many
     * as the limit were held at one instant.
     *
     * @param history what happened
     * @throws AssertionError if it could not; such a run proves nothing
     */
    public static void assertCouldHaveFailed(History history) {
        int most = OverlapCheck.most(history);
        long grants = history.operations().stream().filter(Operation::isGrant).count();
        long releases = history.operations().stream()
                .filter(operation -> operation.kind() == Operation.Kind.RELEASE)
                .count();
        if (most < history.limit() || grants == 0 || releases == 0) {
            throw new AssertionError("the run proves nothing: at most " + most + " of " + history.limit()
                    + " held at once, " + grants + " grants, " + releases + " releases");
        }
    }

    /**
     * Finds the states that a run has to reach now and then.
     *
     * @param history what happened
     * @return those that it shows, and how often; of the other ones it cannot tell
     */
    public static Map<Sometimes, Long> reached(History history) {
        return StatesReached.in(history);
    }

    /**
     * Returns the greatest number of permits that were surely held at one instant.
     *
     * @param history what happened
     * @return from 0
     */
    public static int mostHeld(History history) {
        return OverlapCheck.most(history);
    }

    /**
     * Returns for how long at most two holders of one slot were both entitled to it.
     *
     * @param history what happened
     * @return zero if never
     */
    public static Duration longestOverlap(History history) {
        return Duration.ofNanos(OverlapCheck.longest(history));
    }

    /**
     * Returns how often somebody became entitled to a slot that another one was still entitled to.
     *
     * @param history what happened
     * @return from 0
     */
    public static int overlaps(History history) {
        return OverlapCheck.overlaps(Interval.of(history, 0)).size();
    }

    /**
     * Returns how many slots were granted above the limit that was in force.
     *
     * @param history what happened
     * @return from 0
     */
    public static int grantsAboveLimit(History history) {
        return OverlapCheck.removedSlots(history).size();
    }
}
