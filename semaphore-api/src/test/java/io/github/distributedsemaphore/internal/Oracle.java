package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Watches a simulation from outside: who holds what, by what the callers were told. For one actor at a time, as a simulation
 * runs them.
 */
final class Oracle {
    private final int limit;
    private final List<Permit> held = new ArrayList<>();
    private final Map<Permit, AtomicInteger> losses = new HashMap<>();
    private final Map<Integer, Long> lastEpochs = new HashMap<>();
    private final List<Permit> toBeTold = new ArrayList<>();
    private final List<Permit> notToBeTold = new ArrayList<>();
    private int grants;
    private final Map<String, Integer> seen = new TreeMap<>();

    Oracle(int limit) {
        this.limit = limit;
    }

    /** An acquire returned these. */
    void granted(List<Permit> permits) {
        for (Permit permit : permits) {
            checkEpoch(permit);
            held.add(permit);
            AtomicInteger count = new AtomicInteger();
            losses.put(permit, count);
            permit.onLost(loss -> told(count, loss));
        }
        check();
        grants++;
        reached("grant");
    }

    private void checkEpoch(Permit permit) {
        long last = lastEpochs.getOrDefault(permit.slot(), -1L);
        long epoch = permit.fence().epoch();
        // A caller that was held up until its permit had ended may be overtaken by the next holder.
        if (permit.isValid()) {
            assertThat(epoch)
                    .as("epoch of slot %s after %s", permit.slot(), last)
                    .isGreaterThan(last);
        }
        lastEpochs.put(permit.slot(), Math.max(last, epoch));
    }

    private void told(AtomicInteger count, PermitLoss loss) {
        assertThat(count.incrementAndGet()).as("news of %s", loss).isOne();
        reached("loss");
    }

    /** A release is about to be called. */
    void releasing(Permit permit) {
        held.remove(permit);
        if (((HeldPermit) permit).state() == HeldPermit.State.LOST) {
            toBeTold.add(permit);
        }
    }

    /** A release has told what it found. */
    void released(Permit permit, ReleaseOutcome outcome) {
        if (outcome == ReleaseOutcome.RELEASED) {
            notToBeTold.add(permit);
        }
    }

    /** Nothing happens any more. */
    void finish() {
        assertThat(toBeTold)
                .allSatisfy(permit ->
                        assertThat(losses.get(permit)).as("news of loss").hasValue(1));
        assertThat(notToBeTold)
                .allSatisfy(permit ->
                        assertThat(losses.get(permit)).as("news of release").hasValue(0));
    }

    /** How many calls were granted. */
    int grants() {
        return grants;
    }

    void check() {
        List<Permit> valid = held.stream().filter(Permit::isValid).toList();
        assertThat(valid).as("held at once").hasSizeLessThanOrEqualTo(limit);
        assertThat(valid.stream().map(Permit::slot)).doesNotHaveDuplicates();
        if (valid.size() == limit) {
            reached("all slots held");
        }
    }

    /** Notes that something was seen at least once. */
    void reached(String what) {
        seen.merge(what, 1, Integer::sum);
    }

    Map<String, Integer> seen() {
        return seen;
    }
}
