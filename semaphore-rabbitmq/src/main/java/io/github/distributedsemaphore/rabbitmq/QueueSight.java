package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.rabbitmq.HolderConnection.LinkLostException;
import io.github.distributedsemaphore.rabbitmq.HolderConnection.QueueAnswer;
import io.github.distributedsemaphore.rabbitmq.ProbeChannel.Existence;
import io.github.distributedsemaphore.rabbitmq.ProbeChannel.ProbeFailedException;
import java.util.List;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells which queues exist: by probes, many at a time; and where the broker takes no messages, by passive declarations one by
 * one on a connection that never publishes. Thread-safe.
 */
final class QueueSight {
    private static final Logger LOG = LoggerFactory.getLogger(QueueSight.class);

    private static final int FIRST_LOOK = 16;
    private static final int GROWTH = 4;

    private final ProbeConnection probes;

    QueueSight(ProbeConnection probes) {
        this.probes = probes;
    }

    /** Looks for queues, in the order given. The fallback is asked only if probes are not answered. */
    List<Existence> look(List<String> queues, Supplier<HolderConnection> fallback, CallBudget budget)
            throws LinkLostException {
        if (queues.isEmpty()) {
            return List.of();
        }
        // Later there is too little time to tell a connection that is slow from one that does not answer.
        if (!budget.isSpent()) {
            try {
                return probes.probe(queues, budget.probing());
            } catch (ProbeFailedException e) {
                LOG.debug("looking for queues one by one, as probing failed", e);
            }
        }
        return fallback.get().look(queues, budget.end()).stream()
                .map(answer -> answer == QueueAnswer.ABSENT ? Existence.ABSENT : Existence.PRESENT)
                .toList();
    }

    /**
     * Determines the limit: looks for A[1], A[2] and so on, until the first that does not exist.
     *
     * @param expected what it was when it was last looked at; 0 if that is not known
     */
    int limit(QueueNames names, int expected, Supplier<HolderConnection> fallback, CallBudget budget)
            throws LinkLostException {
        int limit = 0;
        int size = Math.max(FIRST_LOOK, expected + 1);
        while (limit < QueueNames.MAX_SLOTS) {
            int to = Math.min(QueueNames.MAX_SLOTS, limit + size);
            List<Existence> found = look(names.slots(limit + 1, to), fallback, budget);
            int run = found.indexOf(Existence.ABSENT);
            if (run >= 0) {
                return limit + run;
            }
            limit = to;
            size *= GROWTH;
        }
        return limit;
    }

    /** The same for one who wants to take slots, and to whom it matters whose they are and whether they only seem to be gone. */
    int limitToTake(QueueNames names, int expected, HolderConnection holder, CallBudget budget)
            throws LinkLostException {
        String subject = budget.subject();
        int limit = limit(names, expected, () -> holder, budget);
        QueueAnswer first = holder.look(names.slot(1), budget.end());
        if (first == QueueAnswer.LOCKED) {
            throw Failures.foreign(subject, names.slot(1));
        }
        if (limit == 0 && first == QueueAnswer.DOWN) {
            throw Failures.nodeDown(subject, 1);
        }
        return limit;
    }
}
