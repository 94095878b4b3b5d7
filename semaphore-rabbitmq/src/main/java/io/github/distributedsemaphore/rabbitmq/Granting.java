package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.InterruptShield;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** Turns the wants of an exchange into slots, and the slots into answers. One exchange at a time. */
final class Granting implements AutoCloseable {
    /** Who collects for so long has stalled, or is slower than it is worth to wait for. */
    private static final long LONGEST_COLLECTION_NANOS = 1_000_000_000;

    private static final long LONGEST_PAUSE_NANOS = 10_000_000;

    /** For how many time-outs slots are looked for: a grant takes five round trips, and who lost a race for it begins anew. */
    static final int SEARCH_TIMEOUTS = 2;

    private final RabbitBackend backend;
    private final QueueNames names;
    private final HeldSlots held;
    private final SlotMemory memory;
    private final HolderCount count;
    private final HolderCounts counts;
    private final Epochs epochs;

    Granting(RabbitBackend backend, QueueNames names, HeldSlots held, SlotMemory memory, HolderCount count) {
        this.backend = backend;
        this.names = names;
        this.held = held;
        this.memory = memory;
        this.count = count;
        this.counts = new HolderCounts(names, backend.connections()::execute);
        this.epochs = backend.epochs(names);
    }

    /**
     * What was granted.
     *
     * @param answers an answer for each want
     * @param sent before the request was sent by which the broker confirmed them, by {@link System#nanoTime}
     */
    record Granted(List<Answer> answers, long sent) {}

    Granted take(ExchangeRequest request, HolderConnection holder, InterruptShield shield) throws LinkLostException {
        boolean several = request.wants().stream().anyMatch(want -> want > 1);
        boolean collecting = several && startToCollect(holder, shield);
        try {
            return search(request, collecting, holder, shield);
        } finally {
            if (collecting && holder.isOpen()) {
                holder.delete(names.collector());
            }
        }
    }

    /**
     * Who takes several slots declares one after the other, and gives them back if they are not enough: two at the same time
     * could both be left with too few. So there is one at a time, and whoever finds no free slot meanwhile looks again.
     *
     * @return false if somebody else collects without an end; nobody but attempts that are refused suffers from that
     */
    private boolean startToCollect(HolderConnection holder, InterruptShield shield) throws LinkLostException {
        long end = System.nanoTime() + LONGEST_COLLECTION_NANOS;
        while (holder.declareExclusive(names.collector()) != QueueAnswer.OK) {
            if (System.nanoTime() - end > 0) {
                return false;
            }
            shield.pause(ThreadLocalRandom.current().nextLong(LONGEST_PAUSE_NANOS));
        }
        return true;
    }

    private Granted search(ExchangeRequest request, boolean collecting, HolderConnection holder, InterruptShield shield)
            throws LinkLostException {
        String subject = "Semaphore '" + names.semaphore() + "'";
        CallBudget budget = CallBudget.of(
                subject, backend.connections().settings().timeout().multipliedBy(SEARCH_TIMEOUTS));
        TakenSlots taken = new TakenSlots(names, holder, backend.sight(), epochs, budget, shield);
        SlotSearch search =
                new SlotSearch(names, holder, backend.sight(), memory, held.slots(), counts, taken, budget, shield);
        Deque<Integer> pool = new ArrayDeque<>(search.take(Wants.of(request, collecting)));
        List<Integer> found = List.copyOf(pool);
        List<Answer> answers = new ArrayList<>();
        for (int want : request.wants()) {
            answers.add(answer(want, pool, taken.epoch(), request.epochs()));
        }
        // They are taken from the front.
        count.add(found.subList(0, found.size() - pool.size()), memory.limit(), holder);
        if (!pool.isEmpty()) {
            taken.giveBack(List.copyOf(pool));
            pool.forEach(memory::freed);
            backend.mailbox().tellReleased(names.encoded());
        }
        return new Granted(answers, taken.confirmedFrom());
    }

    private Answer answer(int want, Deque<Integer> pool, long epoch, int run) {
        if (memory.limit() == 0) {
            return Answer.MISSING;
        }
        if (want > memory.limit()) {
            return new Answer.ExceedsLimit(memory.limit());
        }
        if (want > pool.size()) {
            return Answer.FULL;
        }
        List<Hold> granted = new ArrayList<>();
        for (int i = 0; i < want; i++) {
            Hold hold = new Hold(pool.remove(), epoch, epoch + Math.min(run, Epochs.RUN) - 1);
            held.add(hold);
            granted.add(hold);
        }
        return new Answer.Granted(granted);
    }

    @Override
    public void close() {
        epochs.close();
    }
}
