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
     * @throws SemaphoreException if there seems to be none, and the cluster node that has A[1] is down
     */
    static int limit(QueueSight sight, QueueNames names, Supplier<HolderConnection> fallback, CallBudget budget)
            throws LinkLostException {
        int limit = present(sight, names, fallback, budget);
        if (limit == 0) {
            requireUp(fallback.get().look(names.slot(1), budget.end()), budget);
        }
        return limit;
    }

    /** The same for a caller that wants to take slots: it matters whose they are. */
    static int limitToTake(QueueSight sight, QueueNames names, HolderConnection holder, CallBudget budget)
            throws LinkLostException {
        int limit = present(sight, names, () -> holder, budget);
        QueueAnswer first = holder.look(names.slot(1), budget.end());
        if (first == QueueAnswer.LOCKED) {
            throw foreign(budget.subject(), names.slot(1));
        }
        if (first == QueueAnswer.ABSENT) {
            // It was destroyed meanwhile, from here on: of the others perhaps a part was seen, which is no limit.
            return 0;
        }
        if (limit == 0) {
            requireUp(first, budget);
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

    /** Whether there are more slots than were found, because a cluster node is down: RabbitMQ 3 answers as if there were none. */
    static boolean isNextDown(int limit, QueueNames names, HolderConnection holder, CallBudget budget)
            throws LinkLostException {
        return limit > 0
                && limit < QueueNames.MAX_SLOTS
                && holder.look(names.slot(limit + 1), budget.end()) == QueueAnswer.DOWN;
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
