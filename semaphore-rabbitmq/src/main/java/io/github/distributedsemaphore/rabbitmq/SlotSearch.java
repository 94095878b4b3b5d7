package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.rabbitmq.HolderConnection.LinkLostException;
import io.github.distributedsemaphore.rabbitmq.HolderCount.SlotBlock;
import io.github.distributedsemaphore.rabbitmq.ProbeChannel.Existence;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;

/**
 * Finds and takes free slots for one exchange: first those that this session freed lately, then by probing holds in batches
 * that grow. Where the holders that were counted leave too few slots free, an attempt is refused without a look at the holds.
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
    private final HolderCounts counts;
    private final TakenSlots taken;
    private final CallBudget budget;
    private final InterruptShield shield;
    private boolean disturbed;

    SlotSearch(
            QueueNames names,
            HolderConnection holder,
            QueueSight sight,
            SlotMemory memory,
            Set<Integer> held,
            HolderCounts counts,
            TakenSlots taken,
            CallBudget budget,
            InterruptShield shield) {
        this.names = names;
        this.holder = holder;
        this.sight = sight;
        this.memory = memory;
        this.held = held;
        this.counts = counts;
        this.taken = taken;
        this.budget = budget;
        this.shield = shield;
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
                memory.learn(sight.limitToTake(names, memory.limit(), holder, budget));
            }
            done = true;
            return taken.slots();
        } finally {
            if (!done) {
                giveBack(List.copyOf(taken.slots()));
            }
        }
    }

    /** A look takes time, and a hold may move from a slot not yet seen to one already seen: once is not enough to be certain. */
    private void searchUntilSure(Wants wants) throws LinkLostException {
        int needed = wants.certain() ? LOOKS_TO_BE_CERTAIN : 1;
        int inARow = 0;
        for (int round = 0; round < MOST_ROUNDS && inARow < needed; round++) {
            if (memory.limit() == 0) {
                memory.learn(sight.limitToTake(names, memory.limit(), holder, budget));
            }
            Found found = memory.limit() == 0 || wants.most() == 0
                    ? Found.ENOUGH
                    : takeOnce(wants, Math.min(wants.most(), memory.limit()));
            switch (found) {
                case ENOUGH, FULL -> inARow = needed;
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
        declare(memory.takeFreed(wanted - taken.size()).stream()
                .filter(slot -> slot <= memory.limit() && isCandidate(slot))
                .toList());
        disturbed = false;
        Found found = taken.size() >= wanted ? Found.ENOUGH : searchAll(wants, wanted);
        boolean confirmed = taken.confirm();
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
        List<Integer> candidates = candidates();
        boolean few = candidates.size() <= Wants.A_FEW;
        askForCounts(wants, few);
        if (wants.certain() && !few) {
            Found found = judge(sight.look(limits(), () -> holder, budget), wants);
            if (found == Found.OTHER_LIMIT || areTooFewFree(wants)) {
                return refusal(found);
            }
        }
        List<Integer> order = few ? candidates : counts.order(candidates, !wants.certain());
        Found found = searchInOrder(order, wants, wanted);
        return found == Found.NO_MORE && few && areTooFewFree(wants) ? refusal(found) : found;
    }

    /** For an attempt, whose refusal they can prove; and where there are many slots, to know where to begin. */
    private void askForCounts(Wants wants, boolean few) {
        int limit = memory.limit();
        boolean many = limit > SlotBlock.SIZE;
        if (many ? !few : wants.certain()) {
            counts.ask(limit, holder);
        } else {
            counts.askNothing(limit);
        }
    }

    private boolean areTooFewFree(Wants wants) {
        return counts.mostFree() < Math.max(wants.least(), taken.size() + 1);
    }

    private Found refusal(Found found) {
        return found == Found.NO_MORE && counts.isSnapshot() ? Found.FULL : found;
    }

    private Found searchInOrder(List<Integer> order, Wants wants, int wanted) throws LinkLostException {
        int from = 0;
        int size = wants.firstLook(order.size());
        while (true) {
            int to = Math.min(order.size(), from + size);
            List<Integer> window = order.subList(from, to);
            List<String> queues = names.holds(window);
            boolean last = to == order.size();
            if (last) {
                queues.addAll(limits());
            }
            budget.requireTime();
            List<Existence> found = sight.look(queues, () -> holder, budget);
            declareFree(window, found, wanted, wants.least());
            if (taken.size() >= wanted) {
                return Found.ENOUGH;
            }
            if (last) {
                return judge(found.subList(window.size(), found.size()), wants);
            }
            from = to;
            size = Math.min(size * GROWTH, MOST_AT_ONCE);
        }
    }

    /** What tells whether the limit is still what it was, and whether somebody is taking several slots. */
    private List<String> limits() {
        int limit = memory.limit();
        return List.of(names.slot(limit), names.slot(Math.min(limit + 1, QueueNames.MAX_SLOTS)), names.collector());
    }

    private Found judge(List<Existence> limits, Wants wants) {
        disturbed |= limits.get(2) == Existence.PRESENT && !wants.collecting();
        boolean ends = memory.limit() == QueueNames.MAX_SLOTS || limits.get(1) == Existence.ABSENT;
        return limits.get(0) == Existence.PRESENT && ends ? Found.NO_MORE : Found.OTHER_LIMIT;
    }

    private List<Integer> candidates() {
        return IntStream.rangeClosed(1, memory.limit())
                .filter(this::isCandidate)
                .boxed()
                .toList();
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
            // The lowest, as the specification has it; but other clients that saw the same tried the same slot.
            if (disturbed) {
                Collections.shuffle(free, ThreadLocalRandom.current());
            }
            List<Integer> next = free.subList(0, Math.min(free.size(), wanted - taken.size()));
            declare(List.copyOf(next));
            next.clear();
        }
    }

    private void declare(List<Integer> slots) throws LinkLostException {
        if (!slots.isEmpty() && !taken.declare(slots)) {
            disturbed = true;
            shield.pause(ThreadLocalRandom.current().nextLong(SKEW_NANOS));
        }
    }

    /** Gives back what was taken in this search. */
    void giveBack(List<Integer> slots) throws LinkLostException {
        taken.giveBack(slots);
    }

    /** What a look at all slots showed. */
    enum Found {
        /** As many as were wanted are taken. */
        ENOUGH,
        /** All others were held when they were looked at. */
        NO_MORE,
        /** All were held at one instant. */
        FULL,
        /** Others were faster, or are just taking several slots, which they may give back. */
        UNCLEAR,
        /** The limit is not what it was taken for. */
        OTHER_LIMIT
    }

    /**
     * How many slots an exchange needs.
     *
     * @param most all wants together
     * @param least the smallest want: fewer slots are of no use
     * @param certain whether a refusal has to be certain: that of a waiting caller is put right when it asks again, that of an
     *     attempt is an answer
     * @param collecting whether this client is the one that takes several slots now
     */
    record Wants(int most, int least, boolean certain, boolean collecting) {
        /** So many can be looked at at once instead of asking whether that is worth it. */
        static final int A_FEW = 16;

        /**
         * Counts what an exchange needs.
         *
         * @param later whether wants of several permits are left out
         */
        static Wants of(ExchangeRequest request, boolean collecting, boolean later) {
            int most = 0;
            int least = QueueNames.MAX_SLOTS;
            for (int want : request.wants()) {
                if (later && want > 1) {
                    continue;
                }
                most = (int) Math.min(QueueNames.MAX_SLOTS, (long) most + want);
                least = Math.min(least, want);
            }
            boolean certain = request.attempts() > 0 || !request.waiting();
            return new Wants(most, least, certain, collecting);
        }

        /** How many candidates to look at first: a refusal has to see all, several need many, and for one a few are often enough. */
        int firstLook(int candidates) {
            if (least > 1) {
                return candidates;
            }
            return certain ? ProbeChannel.MOST_AT_ONCE : A_FEW;
        }
    }

    /** What a session remembers between exchanges, so that most of them need not search. For one thread. */
    static final class SlotMemory {
        private static final int MOST = 64;

        private final Deque<Integer> freed = new ArrayDeque<>();
        private int limit;

        /** The limit as it was last seen; 0 if it is to be determined. */
        int limit() {
            return limit;
        }

        void learn(int seen) {
            limit = seen;
        }

        /** This session gave the slot back a while ago: perhaps it is still free. */
        void freed(int slot) {
            freed.remove(slot);
            freed.push(slot);
            if (freed.size() > MOST) {
                freed.removeLast();
            }
        }

        /** Hands out the slots that may be free, the last freed first, and forgets them. */
        List<Integer> takeFreed(int most) {
            List<Integer> slots = new ArrayList<>();
            while (slots.size() < most && !freed.isEmpty()) {
                slots.add(freed.pop());
            }
            return slots;
        }
    }
}
