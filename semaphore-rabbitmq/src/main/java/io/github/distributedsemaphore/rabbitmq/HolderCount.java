package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Tells others how many slots are held: a session has a consumer at the count queue of a slot's block while it holds the
 * slot, and a queue's number of consumers is in the answer to a passive declaration, see {@link HolderCounts}.
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
    static final Duration PATIENCE = Duration.ofMillis(500);

    /** How long not to try again what failed. */
    static final long PAUSE_NANOS = 10_000_000_000L;

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
        } catch (IOException | ShutdownSignalException e) {
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
    CompletableFuture<?> remove(Collection<Integer> slots) {
        lock.lock();
        try {
            List<String> left = new ArrayList<>();
            for (int slot : slots) {
                String tag = tags.remove(slot);
                if (tag != null) {
                    left.add(tag);
                }
            }
            await(removal);
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
    void await(CompletableFuture<?> removed) {
        try {
            InterruptShield.await(removed, Deadline.after(System.nanoTime(), PATIENCE));
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

    /** Gives up the channel, with all consumers on it, and counting for a while. */
    private void forget() {
        Channel present = channel;
        if (present != null) {
            background.execute(() -> HolderConnection.abort(present));
        }
        channel = null;
        tags.clear();
        removal = DONE;
        again = System.nanoTime() + PAUSE_NANOS;
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
