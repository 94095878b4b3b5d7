package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.Failures;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.LinkLostException;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.QueueAnswer;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection.ProbeFailedException;
import io.github.distributedsemaphore.rabbitmq.net.QueueSight;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The slots whose holds one search has declared and no caller knows of. They are verified before they count: the slot
 * still exists, and the hold is still ours. For one thread.
 */
final class TakenSlots {
    private final QueueNames names;
    private final HolderConnection holder;
    private final QueueSight sight;
    private final FenceStream fences;
    private final CallBudget budget;
    private final Set<Integer> taken = new TreeSet<>();
    private long existedFrom = System.nanoTime();
    private long confirmedFrom = existedFrom;
    private long epoch;

    TakenSlots(QueueNames names, HolderConnection holder, QueueSight sight, FenceStream fences, CallBudget budget) {
        this.names = names;
        this.holder = holder;
        this.sight = sight;
        this.fences = fences;
        this.budget = budget;
    }

    /** When the request was sent by which the broker confirmed that the slots exist, by {@link System#nanoTime}. */
    long existedFrom() {
        return existedFrom;
    }

    /** The same of the holds, which is later. */
    long confirmedFrom() {
        return confirmedFrom;
    }

    /** The epoch from which on a run of them belongs to each slot that was taken. */
    long epoch() {
        return epoch;
    }

    Set<Integer> slots() {
        return taken;
    }

    int size() {
        return taken.size();
    }

    /**
     * Declares holds, if there is time: a declaration without answer costs the connection with all its permits.
     *
     * @return whether all of them are ours now; false if somebody else was faster with one of them
     */
    boolean declare(List<Integer> slots) throws LinkLostException {
        budget.requireTime();
        if (taken.isEmpty()) {
            confirmedFrom = System.nanoTime();
        }
        // Before it is known: if one of the requests fails, what others of them may have declared is given back.
        taken.addAll(slots);
        List<@Nullable QueueAnswer> answers = new ArrayList<>();
        boolean all;
        try {
            holder.declareExclusive(names.holds(slots), answers, budget.end());
        } finally {
            all = keepOnlyOk(slots, answers);
        }
        return all;
    }

    /** Forgets those that are certainly not ours, and tells whether there are none. */
    private boolean keepOnlyOk(List<Integer> slots, List<? extends @Nullable QueueAnswer> answers) {
        boolean all = true;
        for (int i = 0; i < answers.size(); i++) {
            if (answers.get(i) != QueueAnswer.OK) {
                taken.remove(slots.get(i));
                all = false;
            }
        }
        return all;
    }

    /**
     * Verifies what was declared: a slot may have been removed between probe and declaration, and an operator or a policy
     * may have deleted the hold. A hold above a gap in the slots, left by an administrator that was broken off, does not
     * count either, therefore the first slot is looked at too.
     *
     * @return false if a slot is gone
     */
    boolean confirm() throws LinkLostException {
        if (taken.isEmpty()) {
            return true;
        }
        fences.sendFor(budget);
        List<Integer> declared = List.copyOf(taken);
        List<String> queues = new ArrayList<>(declared.stream().map(names::slot).toList());
        queues.add(names.slot(1));
        existedFrom = System.nanoTime();
        BitSet present = sight.look(queues, () -> holder, budget);
        boolean exists = present.get(declared.size());
        List<Integer> removed = new ArrayList<>();
        for (int i = 0; i < declared.size(); i++) {
            if (!exists || !present.get(i)) {
                removed.add(declared.get(i));
            }
        }
        giveBack(removed);
        if (!drawEpoch()) {
            giveBack(List.copyOf(taken));
            return false;
        }
        lookAgain();
        return removed.isEmpty();
    }

    /** A client that has lost its slot by now may have drawn later than the one that has it. */
    private void lookAgain() throws LinkLostException {
        confirmedFrom = System.nanoTime();
        List<Integer> slots = List.copyOf(taken);
        keepOnlyOk(slots, holder.look(names.holds(slots), budget.end()));
    }

    /**
     * After the declaration and before the last look at the hold, so that it was drawn while the slot was ours.
     *
     * @return false if there is none because the semaphore is gone, or was gone
     */
    private boolean drawEpoch() throws LinkLostException {
        if (taken.isEmpty()) {
            return true;
        }
        try {
            epoch = fences.draw(budget);
            return true;
        } catch (ProbeFailedException | IncompatibleStateException e) {
            if (isAbsent(names.slot(1))) {
                return false;
            }
            if (!(e instanceof IncompatibleStateException incompatible)) {
                throw Failures.unavailable(budget.subject() + ": " + e.getMessage(), e);
            }
            // The slot may be that of a semaphore that was created since, and its stream is made before its slots.
            if (isAbsent(names.fences())) {
                throw incompatible;
            }
            return false;
        }
    }

    private boolean isAbsent(String queue) throws LinkLostException {
        return holder.look(queue, budget.end()) == QueueAnswer.ABSENT;
    }

    /** Deletes holds again. One that the broker refuses to delete costs the connection: nobody would know that it is left. */
    void giveBack(List<Integer> slots) throws LinkLostException {
        try {
            holder.delete(names.holds(slots), budget.end());
            taken.removeAll(slots);
        } catch (SemaphoreException e) {
            holder.drop("a hold could not be given back: " + e.getMessage());
            throw e;
        }
    }
}
