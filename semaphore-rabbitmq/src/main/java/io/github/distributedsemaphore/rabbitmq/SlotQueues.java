package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.Failures;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.LinkLostException;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.QueueAnswer;
import io.github.distributedsemaphore.rabbitmq.net.QueueSight;
import java.util.function.Supplier;

/** What the A queues of a semaphore tell: its limit, and what is wrong with them. */
final class SlotQueues {
    private static final int FIRST_LOOK = 16;
    private static final int GROWTH = 4;

    private SlotQueues() {}

    /**
     * Determines the limit: looks for A[1], A[2] and so on, until the first that does not exist.
     *
     * @throws SemaphoreException if the first that seems not to exist is on a cluster node that is down
     */
    static int limit(QueueSight sight, QueueNames names, Supplier<HolderConnection> fallback, CallBudget budget)
            throws LinkLostException {
        int limit = present(sight, names, fallback, budget);
        if (limit == 0) {
            requireUp(fallback.get().look(names.slot(1), budget.end()), budget);
        } else {
            requireNextUp(limit, sight, names, fallback, budget);
        }
        return limit;
    }

    /**
     * The same for a caller that wants to take slots: it matters whose they are, and whether there are more only to one that wants
     * more.
     */
    static int limitToTake(
            QueueSight sight, QueueNames names, int mostWanted, HolderConnection holder, CallBudget budget)
            throws LinkLostException {
        int limit = present(sight, names, () -> holder, budget);
        QueueAnswer first = holder.look(names.slot(1), budget.end());
        if (first == QueueAnswer.LOCKED) {
            throw foreign(budget.subject(), names.slot(1));
        }
        if (limit == 0) {
            requireUp(first, budget);
        } else if (mostWanted > limit) {
            requireNextUp(limit, sight, names, () -> holder, budget);
        }
        return limit;
    }

    private static int present(
            QueueSight sight, QueueNames names, Supplier<HolderConnection> fallback, CallBudget budget)
            throws LinkLostException {
        int limit = 0;
        int size = FIRST_LOOK;
        while (limit < QueueNames.MAX_SLOTS) {
            int to = Math.min(QueueNames.MAX_SLOTS, limit + size);
            int run = sight.look(names.slots(limit + 1, to), fallback, budget).nextClearBit(0);
            if (limit + run < to) {
                return limit + run;
            }
            limit = to;
            size *= GROWTH;
        }
        return limit;
    }

    private static void requireUp(QueueAnswer first, CallBudget budget) {
        if (first == QueueAnswer.DOWN) {
            throw nodeDown(budget.subject(), 1);
        }
    }

    private static void requireNextUp(
            int limit, QueueSight sight, QueueNames names, Supplier<HolderConnection> fallback, CallBudget budget)
            throws LinkLostException {
        if (limit < QueueNames.MAX_SLOTS && sight.isDown(names.slot(limit + 1), fallback, budget)) {
            throw nodeDown(budget.subject(), limit + 1);
        }
    }

    static SemaphoreException foreign(String subject, String queue) {
        return new IncompatibleStateException(
                subject + ": '" + queue
                        + "' should be one of its slots, but is an exclusive queue of some other program:"
                        + " rename it there, or give the semaphore another name",
                null);
    }

    static SemaphoreException nodeDown(String subject, int slot) {
        return Failures.unavailable(
                subject + ": the cluster node that has its slot " + slot + " is down: start it again", null);
    }
}
