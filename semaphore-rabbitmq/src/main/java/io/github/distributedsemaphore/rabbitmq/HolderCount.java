package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.QueueSight;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Tells others how many slots are held: a session has a consumer at the count queue of a slot's block while it holds the
 * slot, and a queue's number of consumers is in the answer to a passive declaration, see {@link Reader}.
 *
 * <p>There are never more consumers at a count queue than held slots in its block. A consumer comes after its hold was
 * declared, and goes before that is deleted. A hold is exclusive, so no slot is counted twice. A client that took a slot under
 * another limit counts it for a block that ends at that limit, which is another queue: so a slot that was removed since is
 * not taken for one of those that are left. With the connection both go, the consumer and the hold, though not at the same
 * instant. Only a hold that an operator or a policy deletes is counted until its holder is notified.
 *
 * <p>There may be fewer: of other programs that follow the specification, or where counting fails. So nothing waits for
 * it to succeed, and no failure of it is reported: the slots that are not counted are looked at. It has a channel of its own,
 * since the broker closes that of a request which it refuses; the consumers on it are gone before that is known. Thread-safe.
 */
final class HolderCount {
    /** A queue on a node that is down may leave requests without answer. */
    private static final Duration PATIENCE = Duration.ofMillis(500);

    /** How long not to try again what failed. */
    private static final long PAUSE_NANOS = 10_000_000_000L;

    private static final CompletableFuture<?> DONE = CompletableFuture.completedFuture("");

    private final QueueNames names;
    private final Executor background;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<Integer, String> tags = new HashMap<>();
    private @Nullable Channel channel;
    private CompletableFuture<?> removal = DONE;
    private long sequence;
    private long again = System.nanoTime();

    /** Counts for nobody yet. What may block is done in the background. */
    HolderCount(QueueNames names, Executor background) {
        this.names = names;
        this.background = background;
    }

    /** Counts slots that were taken, and are surely held, while the limit is so much. Does not wait. */
    void add(Collection<Integer> slots, int limit, HolderConnection holder) {
        lock.lock();
        try {
            // What was removed meanwhile belongs to no block.
            List<Integer> present = slots.stream().filter(slot -> slot <= limit).toList();
            Channel used = present.isEmpty() ? null : open(holder);
            if (used != null) {
                for (int slot : present) {
                    String tag = slot + "." + sequence++;
                    tags.put(slot, tag);
                    used.asyncRpc(consume(names.count(SlotBlock.of(slot, limit)), tag));
                }
            }
        } catch (IOException | ShutdownSignalException | OutOfMemoryError e) {
            // Also for want of a thread: the slots are held, whether they are counted or not.
            forget();
        } finally {
            lock.unlock();
        }
    }

    /** Without acknowledgements, so that nothing is expected of it. Of a tag used twice the connection would die. */
    private static AMQP.Basic.Consume consume(String queue, String tag) {
        return new AMQP.Basic.Consume.Builder()
                .queue(queue)
                .consumerTag(tag)
                .noAck()
                .nowait()
                .build();
    }

    private @Nullable Channel open(HolderConnection holder) {
        Channel present = channel;
        if (present != null && present.isOpen()) {
            return present;
        }
        if (present != null) {
            forget();
        }
        if (again - System.nanoTime() > 0) {
            return null;
        }
        Channel opened = holder.openSpare(Deadline.after(System.nanoTime(), PATIENCE));
        if (opened == null) {
            forget();
            return null;
        }
        // What a stranger sends to a count queue is dropped; without this the client library would end the connection.
        opened.setDefaultConsumer(new DefaultConsumer(opened));
        channel = opened;
        return opened;
    }

    /** Begins to take slots out of the count; it is done before what this returns was awaited by {@link #await}. */
    CompletableFuture<?> remove(Collection<Integer> slots, CallBudget budget) {
        lock.lock();
        try {
            List<String> left = new ArrayList<>();
            for (int slot : slots) {
                String tag = tags.remove(slot);
                if (tag != null) {
                    left.add(tag);
                }
            }
            await(removal, budget);
            Channel used = channel;
            if (used == null || left.isEmpty()) {
                return DONE;
            }
            for (String tag : left.subList(1, left.size())) {
                used.asyncRpc(cancel(tag).nowait().build());
            }
            // The broker does one after the other, so the answer to the last one speaks for all.
            removal = used.asyncCompletableRpc(cancel(left.get(0)).build());
            return removal;
        } catch (IOException | ShutdownSignalException e) {
            forget();
            return DONE;
        } finally {
            lock.unlock();
        }
    }

    private static AMQP.Basic.Cancel.Builder cancel(String tag) {
        return new AMQP.Basic.Cancel.Builder().consumerTag(tag);
    }

    /** Waits until slots are not counted any more, but not for long: what is counted wrongly makes nobody a holder. */
    void await(CompletableFuture<?> removed, CallBudget budget) {
        // So short that the deletion of the hold still has its half of the call's time.
        Duration most = budget.probing().compareTo(PATIENCE) < 0 ? budget.probing() : PATIENCE;
        try {
            InterruptShield.await(removed, budget.patience(most));
        } catch (ExecutionException | TimeoutException e) {
            lock.lock();
            try {
                if (removed == removal) {
                    forget();
                }
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Gives up the channel, with all consumers on it, and counting for a while. One on which the broker still works is closed when that
     * is done, see {@link HolderConnection.Asked}.
     */
    private void forget() {
        Channel present = channel;
        if (present != null) {
            CompletableFuture<?> unused =
                    removal.whenCompleteAsync((done, failed) -> HolderConnection.abort(present), background);
        }
        channel = null;
        tags.clear();
        removal = DONE;
        again = System.nanoTime() + PAUSE_NANOS;
    }

    /**
     * How many holders each block of slots has at least, as they say by a {@link HolderCount}. A block that is counted whole was
     * held whole when the broker answered. Nothing is known of a block whose count cannot be read. For one exchange at a time.
     */
    static final class Reader {
        private final QueueNames names;
        private List<HolderConnection.Asked> asked = List.of();
        private @Nullable HolderConnection askedAt;
        private List<SlotBlock> blocks = List.of();
        private List<Integer> free = List.of();
        private int failedLimit;
        private long again = System.nanoTime();

        Reader(QueueNames names) {
            this.names = names;
        }

        /**
         * Asks for the counts while the limit is so much. Does not wait for them.
         *
         * @param holder where to ask; null to know nothing
         */
        void ask(int limit, @Nullable HolderConnection holder) {
            readAnswers();
            blocks = SlotBlock.upTo(limit);
            free = blocks.stream().map(SlotBlock::size).toList();
            if (holder != null && (limit != failedLimit || again - System.nanoTime() <= 0)) {
                askedAt = holder;
                asked = blocks.stream()
                        .map(block -> holder.askForConsumers(names.count(block)))
                        .toList();
            }
        }

        /** Waits for what was asked for, but not for long. */
        private void readAnswers() {
            HolderConnection holder = askedAt;
            if (holder == null) {
                return;
            }
            Deadline end = Deadline.after(System.nanoTime(), PATIENCE);
            List<Integer> most = new ArrayList<>();
            for (int i = 0; i < asked.size(); i++) {
                OptionalInt holders = holder.consumers(asked.get(i), end);
                if (holders.isEmpty()) {
                    failedLimit = blocks.get(blocks.size() - 1).last();
                    again = System.nanoTime() + PAUSE_NANOS;
                }
                most.add(Math.max(0, blocks.get(i).size() - holders.orElse(0)));
            }
            free = most;
            asked = List.of();
            askedAt = null;
        }

        /** How many slots can be free at most, those included that this session has taken and not counted yet. */
        int mostFree() {
            readAnswers();
            return free.stream().mapToInt(Integer::intValue).sum();
        }

        /** Whether they are of one instant. */
        boolean isSnapshot() {
            return blocks.size() == 1;
        }

        /**
         * Puts slots into the order in which to look at them: those of the blocks with the most free ones first. Where there are
         * many, and the counts do not tell them apart, they begin anywhere.
         *
         * @param candidates in ascending order
         * @param full whether to look at blocks, too, that are held whole
         */
        List<Integer> order(List<Integer> candidates, boolean full) {
            readAnswers();
            List<Integer> order = new ArrayList<>(candidates);
            if (order.size() > QueueSight.MOST_AT_ONCE) {
                Collections.rotate(order, ThreadLocalRandom.current().nextInt(order.size()));
            }
            order.removeIf(slot -> !full && free(slot) == 0);
            order.sort(Comparator.<Integer>comparingInt(this::free).reversed());
            return order;
        }

        private int free(int slot) {
            return free.get((slot - 1) / SlotBlock.SIZE);
        }
    }

    /**
     * A run of slots whose holders are counted together, see {@link HolderCount}. Blocks begin after each multiple of {@link
     * #SIZE}; the last one of a semaphore ends at its limit, so that the last slot tells the first.
     *
     * @param first its first slot
     * @param last its last slot
     */
    record SlotBlock(int first, int last) {
        /** Part of the stored format: the name of a count queue tells only the last slot. */
        static final int SIZE = 128;

        /** The block of a slot while the limit is so much. */
        static SlotBlock of(int slot, int limit) {
            int first = (slot - 1) / SIZE * SIZE + 1;
            return new SlotBlock(first, Math.min(limit, first + SIZE - 1));
        }

        /** All blocks while the limit is so much. */
        static List<SlotBlock> upTo(int limit) {
            return IntStream.iterate(1, first -> first <= limit, first -> first + SIZE)
                    .mapToObj(first -> of(first, limit))
                    .toList();
        }

        int size() {
            return last - first + 1;
        }
    }
}
