package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.rabbitmq.HolderCount.SlotBlock;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.Failures;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.LinkLostException;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.QueueAnswer;
import io.github.distributedsemaphore.rabbitmq.net.QueueSight;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Creates, shows and changes semaphores. The limit is the number of slots that exist without a gap, from the first on.
 * Changes are made under the semaphore's mutex and in an order in which each of them that is broken off can be repeated:
 * slots are made with the first one last, so that a semaphore is there with all its slots or not at all; they are added
 * ascending and removed descending, so that there is never a gap.
 */
final class RabbitAdmin implements BackendAdmin {
    private final RabbitConnections connections;
    private final QueueSight sight;
    private final Mailbox mailbox;

    RabbitAdmin(RabbitConnections connections, QueueSight sight, Mailbox mailbox) {
        this.connections = connections;
        this.sight = sight;
        this.mailbox = mailbox;
    }

    /** A change under the mutex, given the slots that exist. */
    @FunctionalInterface
    private interface Change<T> {
        T make(AdminMutex mutex, BitSet slots) throws LinkLostException;
    }

    private <T> T change(QueueNames names, Change<T> change) {
        CallBudget budget = budget(names);
        try (InterruptShield shield = new InterruptShield();
                AdminMutex mutex = AdminMutex.take(connections, names, budget)) {
            shield.absorb();
            try {
                BitSet slots = look(names.slots(1, QueueNames.MAX_SLOTS), mutex::connection, budget);
                requireNodesUp(names, slots, mutex.connection(), budget);
                return change.make(mutex, slots);
            } catch (LinkLostException e) {
                throw mutex.brokenOff(String.valueOf(e.getMessage()), e);
            }
        } catch (LinkLostException e) {
            throw Failures.unavailable(budget.subject() + ": nothing was changed: " + e.getMessage(), e);
        }
    }

    /** A change of what others may use. They hear of it, also if only a part of it was done. */
    private <T> T changeForAll(QueueNames names, Change<T> change) {
        T result;
        try {
            result = change(names, (mutex, slots) -> {
                try {
                    return change.make(mutex, slots);
                } catch (SemaphoreException e) {
                    throw mutex.refused(e);
                }
            });
        } catch (OutcomeUnknownException e) {
            // The time may be over, so that this is not waited for.
            mailbox.announceChange(names.encoded(), CallBudget.of(names.subject(), Duration.ZERO));
            throw e;
        }
        mailbox.announceChange(names.encoded(), budget(names));
        return result;
    }

    private CallBudget budget(QueueNames names) {
        return CallBudget.of(names.subject(), connections.settings().timeout());
    }

    /** Looks for a queue of each slot there could be; returns the numbers of those that exist. */
    private BitSet look(List<String> queues, Supplier<HolderConnection> fallback, CallBudget budget)
            throws LinkLostException {
        BitSet slots = new BitSet();
        sight.look(queues, fallback, budget).stream().forEach(index -> slots.set(index + 1));
        return slots;
    }

    /** A cluster's node that is down makes its queues look deleted (RabbitMQ 3); what is made in their place would clash. */
    private static void requireNodesUp(QueueNames names, BitSet slots, HolderConnection connection, CallBudget budget)
            throws LinkLostException {
        int next = limit(slots) + 1;
        if (next <= QueueNames.MAX_SLOTS && connection.look(names.slot(next), budget.end()) == QueueAnswer.DOWN) {
            throw SlotQueues.nodeDown(budget.subject(), next);
        }
    }

    private static int limit(BitSet slots) {
        return slots.nextClearBit(1) - 1;
    }

    @Override
    public boolean create(String name, int limit) {
        return change(new QueueNames(name), (mutex, slots) -> {
            int found = limit(slots);
            if (found > 0) {
                mutex.requireOurs();
                if (found != limit) {
                    throw new LimitConflictException(name, found, limit);
                }
                mutex.declareFences();
                makeCounts(limit, mutex);
                return false;
            }
            deleteCounts(limit, mutex, slots);
            deleteAbove(limit, mutex, slots);
            mutex.declareFences();
            mutex.declareSlots(List.of(limit));
            // From now on the highest slot tells which these are, should the call be broken off.
            makeCounts(limit, mutex);
            mutex.declareSlots(below(limit, slots));
            return true;
        });
    }

    /**
     * The slots below the highest, in the order in which they are made: first those that are missing, so that a repeated call goes on
     * where the one before was broken off; then those that are there, which are ours only if they can be declared; last the first one.
     */
    static List<Integer> below(int limit, BitSet slots) {
        return IntStream.range(1, limit)
                .map(slot -> limit - slot)
                .boxed()
                .sorted(Comparator.comparing((Integer slot) -> slot == 1).thenComparing(slot -> slots.get(slot)))
                .toList();
    }

    /** Not in a cluster that is to go on without a node: a classic queue on that node would hold up its administration. */
    private void makeCounts(int limit, AdminMutex mutex) throws LinkLostException {
        if (connections.settings().slotQueueType().equals("classic")) {
            mutex.declareCounts(limit);
        }
    }

    /** Deletes the count queues that another limit does not have, while the slots tell which there are. */
    private static void deleteCounts(int limit, AdminMutex mutex, BitSet slots) throws LinkLostException {
        Set<SlotBlock> old = new TreeSet<>(Comparator.comparingInt(SlotBlock::last));
        old.addAll(SlotBlock.upTo(limit(slots)));
        old.addAll(SlotBlock.upTo(Math.max(0, slots.length() - 1)));
        SlotBlock.upTo(limit).forEach(old::remove);
        mutex.deleteCounts(old);
    }

    /** Deletes descending, also what is left of changes that were broken off: the specification's overshooting. */
    private static void deleteAbove(int limit, AdminMutex mutex, BitSet slots) throws LinkLostException {
        mutex.deleteSlots(slots.stream()
                .filter(slot -> slot > limit)
                .boxed()
                .sorted(Comparator.reverseOrder())
                .toList());
    }

    @Override
    public void resize(String name, int limit) {
        QueueNames names = new QueueNames(name);
        int unused = changeForAll(names, (mutex, slots) -> {
            int found = limit(slots);
            if (found == 0) {
                throw new NoSuchSemaphoreException(names.subject() + " does not exist: create it");
            }
            mutex.requireOurs();
            deleteCounts(limit, mutex, slots);
            deleteAbove(limit, mutex, slots);
            mutex.declareSlots(IntStream.rangeClosed(found + 1, limit).boxed().toList());
            makeCounts(limit, mutex);
            return limit;
        });
    }

    @Override
    public boolean destroy(String name) {
        return changeForAll(new QueueNames(name), (mutex, slots) -> {
            deleteCounts(0, mutex, slots);
            // The specification's "Swiss cheese": ascending, for without the first slot there is no semaphore, and
            // whichever slot a client takes, it looks at the first as well.
            // What is left if this is broken off is removed by the next change.
            mutex.deleteSlots(slots.stream().boxed().toList());
            mutex.deleteFences();
            return limit(slots) > 0;
        });
    }

    @Override
    public Optional<SemaphoreDescription> describe(String name) {
        QueueNames names = new QueueNames(name);
        return look(names, (connection, budget) -> describe(names, connection, budget));
    }

    private Optional<SemaphoreDescription> describe(QueueNames names, Lazy connection, CallBudget budget)
            throws LinkLostException {
        int limit = SlotQueues.limit(sight, names, connection, budget);
        if (limit == 0) {
            return Optional.empty();
        }
        BitSet held = look(allHolds(names), connection, budget);
        List<Holder> holders = new ArrayList<>();
        if (!held.isEmpty()) {
            RollCall roll = mailbox.callRoll(names.encoded(), held.cardinality(), budget);
            held.stream()
                    .mapToObj(slot -> roll.holder(slot, slot > limit ? HolderState.RETIRED : HolderState.HELD))
                    .forEach(holders::add);
        }
        int free = limit - held.get(1, limit + 1).cardinality();
        return Optional.of(new SemaphoreDescription(names.semaphore(), limit, free, holders));
    }

    private static List<String> allHolds(QueueNames names) {
        return names.holds(
                IntStream.rangeClosed(1, QueueNames.MAX_SLOTS).boxed().toList());
    }

    @Override
    public List<String> names() {
        throw new UnsupportedOperationException("AMQP has no way to list queues: ask the broker's own tools");
    }

    @Override
    public int retiredHolders(String name) {
        QueueNames names = new QueueNames(name);
        return look(names, (connection, budget) -> {
            int limit = SlotQueues.limit(sight, names, connection, budget);
            BitSet held = look(allHolds(names), connection, budget);
            held.clear(0, limit + 1);
            return held.cardinality();
        });
    }

    /** Asks whether the broker is there, by one look at a queue that hardly exists. */
    void ping() {
        look(
                new QueueNames("ping"),
                (connection, budget) -> sight.look(List.of(QueueNames.PREFIX + "ping"), connection, budget));
    }

    /** Something to find out, for which a connection is there if probes are not answered. */
    @FunctionalInterface
    private interface Look<T> {
        T at(Lazy connection, CallBudget budget) throws LinkLostException;
    }

    /** A connection that is opened only if it is needed, and closed if it was. For one thread. */
    private final class Lazy implements Supplier<HolderConnection>, AutoCloseable {
        private final CallBudget budget;
        private @Nullable HolderConnection connection;

        Lazy(CallBudget budget) {
            this.budget = budget;
        }

        @Override
        public HolderConnection get() {
            HolderConnection present = connection;
            if (present == null) {
                present = new HolderConnection(connections, "semaphore administration", reason -> {}, budget.end());
                connection = present;
            }
            return present;
        }

        @Override
        public void close() {
            if (connection != null) {
                connection.close(budget.end());
            }
        }
    }

    private <T> T look(QueueNames names, Look<T> look) {
        CallBudget budget = budget(names);
        try (InterruptShield shield = new InterruptShield();
                Lazy connection = new Lazy(budget)) {
            shield.absorb();
            return look.at(connection, budget);
        } catch (LinkLostException e) {
            throw Failures.unavailable(budget.subject() + ": " + e.getMessage(), e);
        }
    }
}
