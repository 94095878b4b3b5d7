package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.InterruptShield;
import java.util.Collection;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The right to change a semaphore's slots, as an exclusive queue on a connection of its own, which ends with the connection
 * however that ends. All changes go over that connection and are counted, so that a failure can say whether there were any.
 * For one thread.
 */
final class AdminMutex implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(AdminMutex.class);

    /** How many changes go by until the mutex is verified again. */
    private static final int VERIFY_EVERY = 64;

    private static final long LONGEST_PAUSE_NANOS = 40_000_000;

    private final HolderConnection connection;
    private final QueueNames names;
    private final CallBudget budget;
    private int changes;

    private AdminMutex(HolderConnection connection, QueueNames names, CallBudget budget) {
        this.connection = connection;
        this.names = names;
        this.budget = budget;
    }

    /** Takes the mutex, waiting for whoever has it while the budget lasts. */
    static AdminMutex take(RabbitConnections connections, QueueNames names, CallBudget budget)
            throws LinkLostException {
        HolderConnection connection = new HolderConnection(connections, "semaphore administration", reason -> {});
        boolean taken = false;
        try (InterruptShield shield = new InterruptShield()) {
            while (connection.declareExclusive(names.mutex()) != QueueAnswer.OK) {
                if (budget.isSpent()) {
                    throw Failures.unavailable(
                            budget.subject() + ": another administrator has been at work all the time: try again",
                            null);
                }
                shield.pause(ThreadLocalRandom.current().nextLong(LONGEST_PAUSE_NANOS));
            }
            taken = true;
            return new AdminMutex(connection, names, budget);
        } finally {
            if (!taken) {
                connection.close();
            }
        }
    }

    HolderConnection connection() {
        return connection;
    }

    void declareSlot(int slot) throws LinkLostException {
        verify();
        require(connection.declareSlot(names.slot(slot)), slot);
    }

    /** Deletes a slot, and returns when the broker has confirmed that it is gone. */
    void deleteSlot(int slot) throws LinkLostException {
        verify();
        require(connection.delete(names.slot(slot)), slot);
    }

    /** Makes the queues at which holders are counted. Without them all works, but slower, so a failure is not the call's. */
    void declareCounts(int limit) throws LinkLostException {
        for (SlotBlock block : SlotBlock.upTo(limit)) {
            verify();
            try {
                QueueAnswer answer = connection.declareCount(names.count(block));
                if (answer != QueueAnswer.OK) {
                    LOG.warn("{}: '{}' is of no use: {}", budget.subject(), names.count(block), answer);
                }
            } catch (SemaphoreException e) {
                LOG.warn("{}: holders cannot be counted", budget.subject(), e);
            }
        }
    }

    void deleteCounts(Collection<SlotBlock> blocks) throws LinkLostException {
        for (SlotBlock block : blocks) {
            verify();
            if (connection.delete(names.count(block)) != QueueAnswer.OK) {
                LOG.warn("{}: '{}' could not be deleted", budget.subject(), names.count(block));
            }
        }
    }

    void declareFences() throws LinkLostException {
        verify();
        if (connection.declareStream(names.fences()) != QueueAnswer.OK) {
            throw brokenOff("the broker made no stream for fences", null);
        }
    }

    void deleteFences() throws LinkLostException {
        verify();
        if (connection.delete(names.fences()) != QueueAnswer.OK) {
            throw brokenOff("the broker did not delete the stream of fences", null);
        }
    }

    private void verify() throws LinkLostException {
        boolean mine = changes % VERIFY_EVERY != 0 || connection.look(names.mutex()) == QueueAnswer.OK;
        if (!mine || budget.isSpent()) {
            throw brokenOff(mine ? "the time is over" : "somebody deleted the mutex", null);
        }
        changes++;
    }

    private void require(QueueAnswer answer, int slot) {
        if (answer != QueueAnswer.OK) {
            throw brokenOff("the broker answered " + answer + " about slot " + slot, null);
        }
    }

    /** The exception for a call that cannot go on: certain that nothing was done, or not. */
    RuntimeException brokenOff(String reason, @Nullable Exception cause) {
        String message = budget.subject() + ": the change was broken off: " + reason;
        return changes == 0
                ? Failures.unavailable(message, cause)
                : new OutcomeUnknownException(message + ". Repeat the call, it goes on where this one ended", cause);
    }

    @Override
    public void close() {
        connection.close();
    }
}
