package io.github.distributedsemaphore.tck.history;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One permit in time. While it is <em>definite</em> its holder is entitled to work; outside of <em>possible</em> it cannot
 * have been held.
 *
 * @param grant the operation that took it
 * @param held which of the permits of the grant
 * @param definiteFrom the return of the acquire
 * @param definiteTo the earliest of the call of its release, the end of its validity, its loss and the death of its holder
 * @param possibleFrom the call of the acquire
 * @param possibleTo the return of its release, or the detection bound after loss or death; else never
 */
record Interval(
        Operation grant, HeldSlot held, long definiteFrom, long definiteTo, long possibleFrom, long possibleTo) {

    boolean isDefinite() {
        return definiteFrom <= definiteTo;
    }

    Interval endingAt(long end) {
        return new Interval(grant, held, definiteFrom, end, possibleFrom, possibleTo);
    }

    @Override
    public String toString() {
        return grant.process() + " held slot " + held.slot() + "@" + held.epoch() + " surely from " + definiteFrom
                + " to " + (definiteTo == Operation.NEVER ? "the end" : Long.toString(definiteTo));
    }

    /** Finds out when each permit of a history was held. */
    static List<Interval> of(History history, long detectionNanos) {
        Map<Long, Operation> releases = new HashMap<>();
        Map<Long, Operation> losses = new HashMap<>();
        Map<String, Operation> deaths = new HashMap<>();
        for (Operation operation : history.operations()) {
            switch (operation.kind()) {
                case RELEASE -> operation.slots().forEach(slot -> releases.putIfAbsent(slot.hold(), operation));
                case LOSS -> operation.slots().forEach(slot -> losses.putIfAbsent(slot.hold(), operation));
                case DEATH -> deaths.putIfAbsent(operation.process(), operation);
                default -> {}
            }
        }
        List<Interval> intervals = new ArrayList<>();
        for (Operation grant : history.operations()) {
            if (grant.isGrant()) {
                for (HeldSlot held : grant.slots()) {
                    Ends ends = new Ends(grant, detectionNanos);
                    ends.release(releases.get(held.hold()));
                    ends.cutAt(losses.get(held.hold()));
                    ends.cutAt(deaths.get(grant.process()));
                    intervals.add(
                            new Interval(grant, held, grant.returned(), ends.definite, grant.invoked(), ends.possible));
                }
            }
        }
        return intervals;
    }

    /** Collects what ends one permit. */
    private static final class Ends {
        private final long detectionNanos;
        private long definite;
        private long possible = Operation.NEVER;

        Ends(Operation grant, long detectionNanos) {
            this.detectionNanos = detectionNanos;
            this.definite = grant.sureUntil();
        }

        void release(@org.jspecify.annotations.Nullable Operation release) {
            if (release == null) {
                return;
            }
            // Renewals move the validity on: a permit that is valid when its release is called was so all the time.
            definite = release.sureUntil() >= release.invoked()
                    ? release.invoked()
                    : Math.min(definite, release.invoked());
            possible = release.outcome() == Operation.Outcome.OK ? release.returned() : after(release.returned());
        }

        void cutAt(@org.jspecify.annotations.Nullable Operation end) {
            if (end != null) {
                definite = Math.min(definite, end.invoked());
                possible = Math.min(possible, after(end.returned()));
            }
        }

        private long after(long instant) {
            return instant >= Operation.NEVER - detectionNanos ? Operation.NEVER : instant + detectionNanos;
        }
    }
}
