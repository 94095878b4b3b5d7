package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.spi.InterruptShield;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Finds and takes free slots for one exchange: first those that this session freed lately, then by probing holds in batches
 * that grow. What is declared is verified before it counts: the slot still exists, and the hold is still ours.
 *
 * <p>What was declared and is not handed out by the end is given back, whatever happens. For one thread.
 */
final class SlotSearch {
    /** How often the search starts over because the limit changed under it, or others were faster. */
    private static final int MOST_ROUNDS = 12;

    private static final int LOOKS_TO_BE_CERTAIN = 2;

    private static final int GROWTH = 4;

    /** More would be looked at in vain when one of the first is free. */
    private static final int MOST_AT_ONCE = 256;

    /** The longest pause after a lost race, drawn at random so that clients do not race on in step. */
    private static final long SKEW_NANOS = 1_000_000;

    private final QueueNames names;
    private final HolderConnection holder;
    private final QueueSight sight;
    private final SlotMemory memory;
    private final Set<Integer> held;
    private final Epochs epochs;
    private final CallBudget budget;
    private final InterruptShield shield;
    private final Set<Integer> taken = new TreeSet<>();
    private long confirmedFrom = System.nanoTime();
    private long epoch;
    private boolean disturbed;

    SlotSearch(
            QueueNames names,
            HolderConnection holder,
            QueueSight sight,
            SlotMemory memory,
            Set<Integer> held,
            Epochs epochs,
            CallBudget budget,
            InterruptShield shield) {
        this.names = names;
        this.holder = holder;
        this.sight = sight;
        this.memory = memory;
        this.held = held;
        this.epochs = epochs;
        this.budget = budget;
        this.shield = shield;
    }

    /** When the request was sent by which the broker confirmed the holds, by {@link System#nanoTime}. */
    long confirmedFrom() {
        return confirmedFrom;
    }

    /** The epoch from which on a run of them belongs to each slot that was taken. */
    long epoch() {
        return epoch;
    }

    /**
     * Takes slots.
     *
     * @param wants how many
     * @return the slots taken; fewer than wanted if no more are free; none if the limit, known from then on, is 0
     */
    Set<Integer> take(Wants wants) throws LinkLostException {
        boolean done = false;
        try {
            searchUntilSure(wants);
            if (memory.limit() == 0) {
                memory.learn(sight.limitToTake(names, memory.limit(), holder));
            }
            done = true;
            return taken;
        } finally {
            if (!done) {
                giveBack(List.copyOf(taken));
            }
        }
    }

    /** A look takes time, and a hold may move from a slot not yet seen to one already seen: once is not enough to be certain. */
    private void searchUntilSure(Wants wants) throws LinkLostException {
        int needed = wants.certain() ? LOOKS_TO_BE_CERTAIN : 1;
        int inARow = 0;
        for (int round = 0; round < MOST_ROUNDS && inARow < needed; round++) {
            if (memory.limit() == 0) {
                memory.learn(sight.limitToTake(names, memory.limit(), holder));
            }
            Found found = memory.limit() == 0 ? Found.ENOUGH : takeOnce(wants, Math.min(wants.most(), memory.limit()));
            switch (found) {
                case ENOUGH -> inARow = needed;
                case NO_MORE -> inARow++;
                case UNCLEAR -> {
                    inARow = 0;
                    shield.pause(ThreadLocalRandom.current().nextLong(SKEW_NANOS << Math.min(round, 4)));
                }
                case OTHER_LIMIT -> {
                    inARow = 0;
                    memory.learn(0);
                }
            }
        }
    }

    private Found takeOnce(Wants wants, int wanted) throws LinkLostException {
        for (int slot : memory.takeFreed(wanted - taken.size())) {
            if (slot <= memory.limit() && isCandidate(slot)) {
                declare(slot);
            }
        }
        disturbed = false;
        Found found = taken.size() >= wanted ? Found.ENOUGH : searchAll(wants, wanted);
        boolean confirmed = confirm();
        if (!confirmed) {
            return Found.OTHER_LIMIT;
        }
        if (taken.size() >= wanted) {
            return Found.ENOUGH;
        }
        return found == Found.NO_MORE && disturbed ? Found.UNCLEAR : found;
    }

    private boolean isCandidate(int slot) {
        return !held.contains(slot) && !taken.contains(slot);
    }

    private Found searchAll(Wants wants, int wanted) throws LinkLostException {
        List<Integer> order = order();
        int limit = memory.limit();
        int from = 0;
        int size = wants.firstLook(order.size());
        while (true) {
            int to = Math.min(order.size(), from + size);
            List<Integer> window = order.subList(from, to);
            List<String> queues = names.holds(window);
            boolean last = to == order.size();
            if (last) {
                queues.add(names.slot(limit));
                queues.add(names.slot(Math.min(limit + 1, QueueNames.MAX_SLOTS)));
                queues.add(names.collector());
            }
            budget.requireTime();
            List<Existence> found = sight.look(queues, () -> holder);
            declareFree(window, found, wanted, wants.least());
            if (taken.size() >= wanted) {
                return Found.ENOUGH;
            }
            if (last) {
                List<Existence> others = found.subList(window.size(), found.size());
                disturbed |= others.get(2) == Existence.PRESENT && !wants.collecting();
                return isLimit(limit, others) ? Found.NO_MORE : Found.OTHER_LIMIT;
            }
            from = to;
            size = Math.min(size * GROWTH, MOST_AT_ONCE);
        }
    }

    private static boolean isLimit(int limit, List<Existence> lastAndNext) {
        return lastAndNext.get(0) == Existence.PRESENT
                && (limit == QueueNames.MAX_SLOTS || lastAndNext.get(1) == Existence.ABSENT);
    }

    /** The slots to look at: from the first on where one batch shows most of them, else from anywhere. */
    private List<Integer> order() {
        List<Integer> order = new ArrayList<>();
        for (int slot = 1; slot <= memory.limit(); slot++) {
            if (isCandidate(slot)) {
                order.add(slot);
            }
        }
        if (order.size() > ProbeChannel.MOST_AT_ONCE) {
            Collections.rotate(order, ThreadLocalRandom.current().nextInt(order.size()));
        }
        return order;
    }

    private void declareFree(List<Integer> window, List<Existence> found, int wanted, int least)
            throws LinkLostException {
        List<Integer> free = new ArrayList<>();
        for (int i = 0; i < window.size(); i++) {
            if (found.get(i) == Existence.ABSENT) {
                free.add(window.get(i));
            }
        }
        if (taken.size() + free.size() < least) {
            return;
        }
        while (taken.size() < wanted && !free.isEmpty()) {
            budget.requireTime();
            // The lowest, as the specification has it; but others who saw the same went for the same.
            int index = disturbed ? ThreadLocalRandom.current().nextInt(free.size()) : 0;
            declare(free.remove(/* index */ index));
        }
    }

    private void declare(int slot) throws LinkLostException {
        if (taken.isEmpty()) {
            confirmedFrom = System.nanoTime();
        }
        if (holder.declareExclusive(names.hold(slot)) == QueueAnswer.OK) {
            taken.add(slot);
        } else {
            disturbed = true;
            shield.pause(ThreadLocalRandom.current().nextLong(SKEW_NANOS));
        }
    }

    /**
     * Verifies what was declared: a slot may have been removed between probe and declaration, and an operator or a policy
     * may have deleted the hold. A hold above a gap in the slots, left by an administrator that was broken off, does not
     * count either, therefore the first slot is looked at too.
     *
     * @return false if a slot is gone
     */
    private boolean confirm() throws LinkLostException {
        if (taken.isEmpty()) {
            return true;
        }
        epochs.sendFor();
        List<Integer> declared = List.copyOf(taken);
        List<String> queues = new ArrayList<>(declared.stream().map(names::slot).toList());
        queues.add(names.slot(1));
        List<Existence> found = sight.look(queues, () -> holder);
        boolean exists = found.get(declared.size()) == Existence.PRESENT;
        List<Integer> removed = new ArrayList<>();
        for (int i = 0; i < declared.size(); i++) {
            if (!exists || found.get(i) == Existence.ABSENT) {
                removed.add(declared.get(i));
            }
        }
        giveBack(removed);
        if (!drawEpoch()) {
            giveBack(List.copyOf(taken));
            return false;
        }
        if (epochs.areShared()) {
            lookAgain();
        }
        return removed.isEmpty();
    }

    /** Whoever has lost its slot by now may have drawn later than the one who has it. */
    private void lookAgain() throws LinkLostException {
        confirmedFrom = System.nanoTime();
        for (int slot : List.copyOf(taken)) {
            if (holder.look(names.hold(slot)) != QueueAnswer.OK) {
                taken.remove(slot);
            }
        }
    }

    /**
     * After the declaration and before the last look at the hold, so that it was drawn while the slot was ours.
     *
     * @return false if there is none because the semaphore is gone
     */
    private boolean drawEpoch() throws LinkLostException {
        if (taken.isEmpty()) {
            return true;
        }
        try {
            epoch = epochs.draw(budget, shield);
            return true;
        } catch (ProbeFailedException | IncompatibleStateException e) {
            if (holder.look(names.slot(1)) == QueueAnswer.ABSENT) {
                return false;
            }
            if (e instanceof IncompatibleStateException incompatible) {
                throw incompatible;
            }
            throw Failures.unavailable(budget.subject() + ": " + e.getMessage(), e);
        }
    }

    /** Gives back what was taken in this search. */
    void giveBack(List<Integer> slots) throws LinkLostException {
        for (int slot : slots) {
            holder.delete(names.hold(slot));
            taken.remove(slot);
        }
    }
}
