package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.rabbitmq.HolderConnection.LinkLostException;
import io.github.distributedsemaphore.rabbitmq.HolderConnection.QueueAnswer;
import io.github.distributedsemaphore.rabbitmq.SlotSearch.SlotMemory;
import io.github.distributedsemaphore.rabbitmq.SlotSearch.Wants;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.ThreadLocalRandom;

/** Turns the wants of an exchange into slots, and the slots into answers. One exchange at a time. */
final class Granting implements AutoCloseable {
    /** A collector that stays for so long has stalled, or is slower than it is worth to wait for. */
    private static final long LONGEST_COLLECTION_NANOS = 1_000_000_000;

    /** How long an attempt waits for the collector: a grant of several slots takes some ten round trips. */
    private static final Duration PATIENCE = Duration.ofMillis(300);

    private static final long LONGEST_PAUSE_NANOS = 10_000_000;

    private final RabbitBackend backend;
    private final QueueNames names;
    private final HeldSlots held;
    private final SlotMemory memory;
    private final HolderCount count;
    private final HolderCounts counts;
    private final FenceStream epochs;
    /** Since when another client collects, as far as this one has seen; empty if it has not. */
    private OptionalLong collected = OptionalLong.empty();

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
     * @param postponed whether wants of several permits were refused without a look, to be asked for again soon
     */
    record Granted(List<Answer> answers, long sent, boolean postponed) {}

    /** Whether an exchange takes several slots, and may. */
    private enum Collecting {
        /** All wants are of one permit, or this client does not wait for the collector any longer. */
        NO,
        /** This client is the one that collects now. */
        YES,
        /** Another one is, and callers that want several here go on waiting. */
        LATER
    }

    Granted take(ExchangeRequest request, HolderConnection holder, CallBudget budget, InterruptShield shield)
            throws LinkLostException {
        boolean several = request.wants().stream().anyMatch(want -> want > 1);
        Collecting collecting = several ? startToCollect(request, holder, budget, shield) : Collecting.NO;
        try {
            return search(request, collecting, holder, budget, shield);
        } finally {
            if (collecting == Collecting.YES && holder.isOpen()) {
                holder.delete(names.collector(), budget.end());
            }
        }
    }

    /**
     * A client that takes several slots declares them together, and gives them back if they are not enough. Two at the same time
     * could both be left with too few, so there is one at a time. A client that finds no free slot meanwhile looks again.
     *
     * <p>An attempt waits a moment for its turn. Callers that go on waiting are refused instead, so that others of the same
     * exchange do not wait with them.
     */
    private Collecting startToCollect(
            ExchangeRequest request, HolderConnection holder, CallBudget budget, InterruptShield shield)
            throws LinkLostException {
        boolean attempt = request.attempts() > 0 || !request.waiting();
        Deadline patience = budget.patience(attempt ? PATIENCE : Duration.ZERO);
        while (holder.declareExclusive(names.collector(), budget.end()) != QueueAnswer.OK) {
            long now = System.nanoTime();
            if (collected.isEmpty()) {
                collected = OptionalLong.of(now);
            }
            if (patience.isPast(now)) {
                boolean stalled = now - collected.getAsLong() > LONGEST_COLLECTION_NANOS;
                return attempt || stalled ? Collecting.NO : Collecting.LATER;
            }
            shield.pause(ThreadLocalRandom.current().nextLong(LONGEST_PAUSE_NANOS));
        }
        collected = OptionalLong.empty();
        return Collecting.YES;
    }

    private Granted search(
            ExchangeRequest request,
            Collecting collecting,
            HolderConnection holder,
            CallBudget budget,
            InterruptShield shield)
            throws LinkLostException {
        boolean later = collecting == Collecting.LATER;
        TakenSlots taken = new TakenSlots(names, holder, backend.sight(), epochs, budget, shield);
        SlotSearch search =
                new SlotSearch(names, holder, backend.sight(), memory, held.slots(), counts, taken, budget, shield);
        Deque<Integer> pool = new ArrayDeque<>(search.take(Wants.of(request, collecting == Collecting.YES, later)));
        List<Integer> found = List.copyOf(pool);
        List<Answer> answers = new ArrayList<>();
        for (int want : request.wants()) {
            answers.add(answer(want, later && want > 1, pool, taken.epoch(), request.epochs()));
        }
        // They are taken from the front.
        count.add(found.subList(0, found.size() - pool.size()), memory.limit(), holder);
        if (!pool.isEmpty()) {
            taken.giveBack(List.copyOf(pool));
            pool.forEach(memory::freed);
            backend.mailbox().tellReleased(names.encoded());
        }
        return new Granted(answers, taken.confirmedFrom(), later);
    }

    private Answer answer(int want, boolean later, Deque<Integer> pool, long epoch, int run) {
        if (memory.limit() == 0) {
            return Answer.MISSING;
        }
        if (want > memory.limit()) {
            return new Answer.ExceedsLimit(memory.limit());
        }
        if (later || want > pool.size()) {
            return Answer.FULL;
        }
        List<Hold> granted = new ArrayList<>();
        for (int i = 0; i < want; i++) {
            Hold hold = new Hold(pool.remove(), epoch, epoch + Math.min(run, FenceStream.RUN) - 1);
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
