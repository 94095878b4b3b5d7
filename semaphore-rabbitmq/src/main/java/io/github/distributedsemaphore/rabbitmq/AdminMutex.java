package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Method;
import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.rabbitmq.HolderCount.SlotBlock;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.Failures;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.LinkLostException;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.QueueAnswer;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.rabbitmq.net.RabbitSettings;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The right to change a semaphore's slots, as an exclusive queue on a connection of its own, which ends with the connection
 * however that ends. All changes go over that connection and are counted, so that a failure can say whether there were any. Only
 * queues at which holders are counted do not matter: they change nothing for anybody.
 * For one thread.
 */
final class AdminMutex implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(AdminMutex.class);

    /** How many slots are changed until the mutex is verified again. */
    private static final int VERIFY_EVERY = 64;

    private static final long LONGEST_PAUSE_NANOS = 40_000_000;

    private static final Map<String, Object> COUNT_ARGUMENTS = Map.of("x-max-length", 0, "x-queue-type", "classic");

    private final HolderConnection connection;
    private final RabbitSettings settings;
    private final QueueNames names;
    private final CallBudget budget;
    private int changes;

    private AdminMutex(HolderConnection connection, RabbitSettings settings, QueueNames names, CallBudget budget) {
        this.connection = connection;
        this.settings = settings;
        this.names = names;
        this.budget = budget;
    }

    /** Takes the mutex, waiting for another administrator while there is time for a step. */
    static AdminMutex take(RabbitConnections connections, QueueNames names, CallBudget budget)
            throws LinkLostException {
        HolderConnection connection =
                new HolderConnection(connections, "semaphore administration", reason -> {}, budget.end());
        boolean taken = false;
        try (InterruptShield shield = new InterruptShield()) {
            while (connection.declareExclusive(names.mutex(), budget.end()) != QueueAnswer.OK) {
                if (budget.isSpent()) {
                    throw Failures.unavailable(
                            budget.subject() + ": another administrator has been at work all the time: try again",
                            null);
                }
                shield.pause(ThreadLocalRandom.current().nextLong(LONGEST_PAUSE_NANOS));
            }
            taken = true;
            return new AdminMutex(connection, connections.settings(), names, budget);
        } finally {
            if (!taken) {
                connection.close(budget.end());
            }
        }
    }

    HolderConnection connection() {
        return connection;
    }

    /** A first slot is ours only if it can be declared again as we do. */
    void requireOurs() throws LinkLostException {
        if (connection.declareDurable(names.slot(1), slotArguments(), budget.end()) == QueueAnswer.LOCKED) {
            throw SlotQueues.foreign(budget.subject(), names.slot(1));
        }
    }

    /** Makes slots in the order given. */
    void declareSlots(List<Integer> slots) throws LinkLostException {
        change(
                slots,
                slot -> new AMQP.Queue.Declare.Builder()
                        .queue(names.slot(slot))
                        .durable()
                        .arguments(slotArguments())
                        .nowait()
                        .build());
    }

    /** The type is said, for a virtual host may have another default. */
    private Map<String, Object> slotArguments() {
        return Map.of("x-max-length", 0, "x-queue-type", settings.slotQueueType());
    }

    /** Deletes slots in the order given, and returns when the broker has confirmed that they are gone. */
    void deleteSlots(List<Integer> slots) throws LinkLostException {
        change(
                slots,
                slot -> new AMQP.Queue.Delete.Builder()
                        .queue(names.slot(slot))
                        .nowait()
                        .build());
    }

    /**
     * The broker's word for each run of changes is that the mutex is still there. The first change is a run of its own: if it is refused,
     * for want of a right perhaps, nothing was changed.
     */
    private void change(List<Integer> slots, IntFunction<Method> request) throws LinkLostException {
        int from = 0;
        while (from < slots.size()) {
            requireTime();
            List<Integer> run = slots.subList(from, Math.min(slots.size(), changes == 0 ? 1 : from + VERIFY_EVERY));
            change(run, run.stream().map(request::apply).toList());
            from += run.size();
        }
    }

    private void change(List<Integer> run, List<Method> requests) throws LinkLostException {
        int before = changes;
        changes += run.size();
        try {
            QueueAnswer answer = connection.changeInOrder(requests, names.mutex(), budget.end());
            if (answer == QueueAnswer.LOCKED && run.size() == 1) {
                requireNotForeign(names.slot(run.get(0)));
            }
            if (answer != QueueAnswer.OK) {
                throw brokenOff("the broker answered " + answer + " about the mutex, or one of the slots " + run, null);
            }
        } catch (BackendAccessException | IncompatibleStateException e) {
            changes = run.size() == 1 ? before : changes;
            throw e;
        }
    }

    private void requireNotForeign(String slot) throws LinkLostException {
        if (connection.look(slot, budget.end()) == QueueAnswer.LOCKED) {
            throw SlotQueues.foreign(budget.subject(), slot);
        }
    }

    /** Makes the queues at which holders are counted. Without them all works, but slower, so a failure is not the call's. */
    void declareCounts(int limit) throws LinkLostException {
        for (SlotBlock block : SlotBlock.upTo(limit)) {
            verify();
            try {
                QueueAnswer answer = connection.declareDurable(names.count(block), COUNT_ARGUMENTS, budget.end());
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
            if (connection.delete(names.count(block), budget.end()) != QueueAnswer.OK) {
                LOG.warn("{}: '{}' could not be deleted", budget.subject(), names.count(block));
            }
        }
    }

    void declareFences() throws LinkLostException {
        verify();
        changes++;
        if (connection.declareDurable(names.fences(), FenceStream.arguments(), budget.end()) != QueueAnswer.OK) {
            throw brokenOff("the broker made no stream for fences", null);
        }
    }

    void deleteFences() throws LinkLostException {
        verify();
        changes++;
        if (connection.delete(names.fences(), budget.end()) != QueueAnswer.OK) {
            throw brokenOff("the broker did not delete the stream of fences", null);
        }
    }

    private void verify() throws LinkLostException {
        requireTime();
        try {
            if (connection.look(names.mutex(), budget.end()) != QueueAnswer.OK) {
                throw brokenOff("somebody deleted the mutex", null);
            }
        } catch (BackendUnavailableException e) {
            throw brokenOff(String.valueOf(e.getMessage()), e);
        }
    }

    private void requireTime() {
        if (budget.isNearlyOver()) {
            throw brokenOff("the time is over", null);
        }
    }

    /** The exception for a call that was refused something: such a refusal says that nothing was done, which may not be so. */
    RuntimeException refused(SemaphoreException e) {
        return changes == 0 || e instanceof OutcomeUnknownException ? e : brokenOff(String.valueOf(e.getMessage()), e);
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
        connection.close(budget.end());
    }
}
