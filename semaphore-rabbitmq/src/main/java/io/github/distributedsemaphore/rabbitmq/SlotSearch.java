package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.LinkLostException;
import io.github.distributedsemaphore.rabbitmq.net.QueueSight;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;

/**
 * Acquires: the specification's search for free slots, from top to bottom. It tries the slots first that this session was
 * offered or gave back lately, then it looks at holds in batches that grow. Where the counted holders leave too few slots free, an
 * attempt is refused without a look at the holds. {@link TakenSlots} declares and verifies. One exchange at a time.
 */
final class SlotSearch {
    /** How often a search starts over because the limit changed under it, or others were faster. */
    private static final int MOST_ROUNDS = 12;

    private static final int LOOKS_TO_BE_CERTAIN = 2;

    /** So many can be looked at at once instead of asking whether that is worth it. */
    private static final int A_FEW = 16;

    private static final int GROWTH = 4;

    /** More would be looked at in vain when one of the first is free. */
    private static final int MOST_AT_ONCE = 256;

    /** The longest pause after a lost race, drawn at random so that clients do not race on in step. */
    private static final long SKEW_NANOS = 1_000_000;

    private static final int MOST_REMEMBERED = 64;

    private final QueueNames names;
    private final QueueSight sight;
    private final HeldSlots held;
    private final HolderCount count;
    private final HolderCount.Reader counts;
    private final FenceStream fences;
    private final Collector collector;

    /** The limit as it was last seen; 0 if it is to be determined. */
    private int limit;

    /** Slots that may be free, the likeliest first. */
    private final Deque<Integer> remembered = new ArrayDeque<>();

    SlotSearch(QueueSight sight, QueueNames names, HeldSlots held, HolderCount count, FenceStream fences) {
        this.names = names;
        this.sight = sight;
        this.held = held;
        this.count = count;
        this.counts = new HolderCount.Reader(names);
        this.fences = fences;
        this.collector = new Collector(names);
    }

    /** Remembers a slot that was freed: perhaps it is still free when the next one is wanted. */
    void remember(int slot) {
        remembered.remove(slot);
        remembered.push(slot);
        if (remembered.size() > MOST_REMEMBERED) {
            remembered.removeLast();
        }
    }

    /**
     * What an exchange took.
     *
     * @param answers an answer for each want
     * @param tried slots that were tried to take; callers may be content before all are that were offered
     * @param unused slots that were taken and given back
     * @param confirmed tells since when the broker is known to have confirmed what was granted
     * @param postponed whether wants of several permits were refused without a look, to be asked for again soon
     * @param missed whether others were faster with a slot that looked free
     */
    record Result(
            List<Answer> answers,
            BitSet tried,
            List<Integer> unused,
            TakenSlots confirmed,
            boolean postponed,
            boolean missed) {}

    /**
     * Takes slots for an exchange.
     *
     * @param offered with how many slots, remembered because they were offered to this client, callers that wait are content: those that
     *     get none ask again when there is the next offer. 0 if they look at all slots
     * @param crowd whether so many others wait that callers that wait are to miss one slot at most
     */
    Result take(ExchangeRequest request, int offered, boolean crowd, HolderConnection holder, CallBudget budget)
            throws LinkLostException {
        collector.begin(request, holder, budget);
        try {
            Search search = new Search(request, offered, crowd, holder, budget);
            search.take();
            return search.result();
        } finally {
            collector.end(holder, budget);
        }
    }

    /** What a look at all slots showed. */
    private enum Found {
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

    /** The search of one exchange. */
    private final class Search {
        private final ExchangeRequest request;
        private final int offered;
        private final HolderConnection holder;
        private final CallBudget budget;
        private final TakenSlots taken;
        private final BitSet tried = new BitSet();
        private final boolean certain;
        /**
         * Whether the search ends with the first slot that others were faster with. Where many see the same free slots, each would
         * else try one after the other, and nearly all in vain.
         */
        private final boolean modest;
        /** Whether others have just taken slots that looked free. */
        private boolean disturbed;
        /** The same, of any round. */
        private boolean missed;
        /** Whether there are more slots, on a cluster node that is down: then nobody is told the limit. */
        private boolean moreAreDown;
        /** How many permits the most modest caller wants: fewer are of no use. And how many all want together. */
        private int least = QueueNames.MAX_SLOTS;

        private int most;

        Search(ExchangeRequest request, int offered, boolean crowd, HolderConnection holder, CallBudget budget) {
            this.request = request;
            this.certain = request.hasAttempts();
            this.modest = crowd && !certain;
            this.offered = certain ? 0 : offered;
            this.holder = holder;
            this.budget = budget;
            this.taken = new TakenSlots(names, holder, sight, fences, budget);
        }

        /** What was declared stays only if all went well. */
        void take() throws LinkLostException {
            for (int want : request.wants()) {
                if (want == 1 || !collector.isPostponed()) {
                    most = (int) Math.min(QueueNames.MAX_SLOTS, (long) most + want);
                    least = Math.min(least, want);
                }
            }
            boolean done = false;
            try {
                searchUntilSure();
                done = true;
            } finally {
                if (!done) {
                    taken.giveBack(List.copyOf(taken.slots()));
                }
            }
        }

        /** A look takes time, and a hold may move from a slot not yet seen to one already seen: once is not enough to be certain. */
        private void searchUntilSure() throws LinkLostException {
            // A refusal for good needs the limit of now: others may have raised it.
            if (request.wants().stream().anyMatch(want -> want > limit)) {
                determineLimit();
            }
            int needed = certain ? LOOKS_TO_BE_CERTAIN : 1;
            int inARow = 0;
            for (int round = 0; round < MOST_ROUNDS && inARow < needed && !givesUp(); round++) {
                Found found = limit == 0 || most == 0 ? Found.ENOUGH : searchOnce();
                switch (found) {
                    case ENOUGH, FULL -> inARow = needed;
                    case NO_MORE -> inARow++;
                    case UNCLEAR -> {
                        inARow = 0;
                        Collector.pause(SKEW_NANOS << Math.min(round, 4));
                    }
                    case OTHER_LIMIT -> {
                        inARow = 0;
                        determineLimit();
                    }
                }
            }
        }

        private void determineLimit() throws LinkLostException {
            // If the look fails, the next exchange has to look again.
            limit = 0;
            limit = SlotQueues.limitToTake(sight, names, holder, budget);
            moreAreDown =
                    Collections.max(request.wants()) > limit && SlotQueues.isNextDown(limit, names, holder, budget);
            if (moreAreDown && Collections.min(request.wants()) > limit) {
                throw SlotQueues.nodeDown(budget.subject(), limit + 1);
            }
        }

        private Found searchOnce() throws LinkLostException {
            declareRemembered();
            // What was remembered may be old, so a miss there says little, unless one miss is all there may be.
            disturbed &= modest;
            Found found = isEnough() ? Found.ENOUGH : givesUp() ? Found.UNCLEAR : searchAll();
            if (!taken.confirm()) {
                return Found.OTHER_LIMIT;
            }
            if (isEnough()) {
                return Found.ENOUGH;
            }
            // What was enough may have been deleted before it was verified, and then nobody has looked at the others.
            return found == Found.ENOUGH || (found == Found.NO_MORE && disturbed) ? Found.UNCLEAR : found;
        }

        private boolean givesUp() {
            return modest && disturbed;
        }

        private boolean isEnough() {
            return taken.size() >= wanted() || (offered > 0 && taken.size() >= least);
        }

        private int wanted() {
            return Math.min(most, limit);
        }

        private void declareRemembered() throws LinkLostException {
            List<Integer> slots = new ArrayList<>();
            int enough = offered > 0 ? Math.min(offered, wanted()) : wanted();
            while (least == 1 && taken.size() + slots.size() < enough && !remembered.isEmpty()) {
                int slot = remembered.pop();
                if (slot > limit) {
                    // It is no use to others either.
                    tried.set(slot);
                } else if (isCandidate(slot)) {
                    slots.add(slot);
                }
            }
            declare(slots);
        }

        private boolean isCandidate(int slot) {
            return !held.contains(slot) && !taken.slots().contains(slot);
        }

        private Found searchAll() throws LinkLostException {
            List<Integer> candidates = IntStream.rangeClosed(1, limit)
                    .filter(this::isCandidate)
                    .boxed()
                    .toList();
            boolean few = candidates.size() <= A_FEW;
            counts.ask(limit, isWorthCounting(few) ? holder : null);
            if (modest || (certain && !few)) {
                Found found = judge(sight.look(limits(), () -> holder, budget), 0);
                if (found == Found.OTHER_LIMIT || areTooFewFree()) {
                    return refusal(found);
                }
            }
            Found found = searchInOrder(few ? candidates : counts.order(candidates, !certain));
            return found == Found.NO_MORE && few && areTooFewFree() ? refusal(found) : found;
        }

        /** For an attempt, whose refusal counts can prove; in a crowd; and where there are many slots, to know where to begin. */
        private boolean isWorthCounting(boolean few) {
            return limit > HolderCount.SlotBlock.SIZE ? !few : certain || modest;
        }

        private boolean areTooFewFree() {
            return counts.mostFree() < Math.max(least, taken.size() + 1);
        }

        private Found refusal(Found found) {
            return found == Found.NO_MORE && counts.isSnapshot() ? Found.FULL : found;
        }

        /** A refusal has to see all, several permits need many, and for one a few looks are often enough. */
        private Found searchInOrder(List<Integer> order) throws LinkLostException {
            int from = 0;
            int size = least > 1 ? order.size() : certain ? QueueSight.MOST_AT_ONCE : A_FEW;
            while (true) {
                int to = Math.min(order.size(), from + size);
                List<Integer> window = order.subList(from, to);
                List<String> queues = names.holds(window);
                boolean last = to == order.size();
                if (last) {
                    queues.addAll(limits());
                }
                budget.requireTime();
                BitSet present = sight.look(queues, () -> holder, budget);
                declareFree(window, present);
                if (taken.size() >= wanted()) {
                    return Found.ENOUGH;
                }
                if (givesUp()) {
                    return Found.UNCLEAR;
                }
                if (last) {
                    return judge(present, window.size());
                }
                from = to;
                size = Math.min(size * GROWTH, MOST_AT_ONCE);
            }
        }

        /** What tells whether the limit is still what it was, and whether somebody is taking several slots. */
        private List<String> limits() {
            return List.of(names.slot(limit), names.slot(Math.min(limit + 1, QueueNames.MAX_SLOTS)), names.collector());
        }

        private Found judge(BitSet present, int limits) {
            disturbed |= present.get(limits + 2) && !collector.isOurs();
            boolean ends = limit == QueueNames.MAX_SLOTS || !present.get(limits + 1);
            return present.get(limits) && ends ? Found.NO_MORE : Found.OTHER_LIMIT;
        }

        private void declareFree(List<Integer> window, BitSet present) throws LinkLostException {
            List<Integer> free = new ArrayList<>();
            for (int i = 0; i < window.size(); i++) {
                if (!present.get(i)) {
                    free.add(window.get(i));
                }
            }
            if (taken.size() + free.size() < least) {
                return;
            }
            while (taken.size() < wanted() && !free.isEmpty() && !givesUp()) {
                // The lowest, as the specification has it; but other clients that saw the same tried the same slot.
                if (disturbed || modest) {
                    Collections.shuffle(free, ThreadLocalRandom.current());
                }
                List<Integer> next = free.subList(0, Math.min(free.size(), wanted() - taken.size()));
                declare(List.copyOf(next));
                next.clear();
            }
        }

        private void declare(List<Integer> slots) throws LinkLostException {
            slots.forEach(tried::set);
            if (!slots.isEmpty() && !taken.declare(slots)) {
                disturbed = true;
                missed = true;
                Collector.pause(SKEW_NANOS);
            }
        }

        /** Serves the callers in their order, and gives back what none of them can use. */
        Result result() throws LinkLostException {
            Deque<Integer> pool = new ArrayDeque<>(taken.slots());
            List<Integer> granted = new ArrayList<>();
            List<Answer> answers = new ArrayList<>();
            for (int want : request.wants()) {
                answers.add(answer(want, pool, granted));
            }
            count.add(granted, limit, holder);
            List<Integer> unused = List.copyOf(pool);
            taken.giveBack(unused);
            unused.forEach(SlotSearch.this::remember);
            return new Result(answers, tried, unused, taken, collector.isPostponed(), missed);
        }

        private Answer answer(int want, Deque<Integer> pool, List<Integer> granted) {
            if (limit == 0) {
                return Answer.MISSING;
            }
            if (want > limit) {
                return moreAreDown ? Answer.FULL : new Answer.ExceedsLimit(limit);
            }
            if (want > pool.size() || (collector.isPostponed() && want > 1)) {
                return Answer.FULL;
            }
            List<Hold> holds = new ArrayList<>();
            for (int i = 0; i < want; i++) {
                long last = taken.epoch() + Math.min(request.epochs(), FenceStream.RUN) - 1;
                Hold hold = new Hold(pool.remove(), taken.epoch(), last);
                held.add(hold);
                granted.add(hold.slot());
                holds.add(hold);
            }
            return new Answer.Granted(holds);
        }
    }
}
