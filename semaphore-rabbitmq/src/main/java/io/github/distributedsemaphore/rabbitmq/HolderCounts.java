package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Command;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.rabbitmq.HolderCount.SlotBlock;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeoutException;

/**
 * How many holders each block of slots has at least, as they tell by {@link HolderCount}. A block that is counted whole was
 * held whole when the broker answered. Nothing is known of a block whose count cannot be read. For one exchange at a time.
 */
final class HolderCounts {
    private final QueueNames names;
    private final Executor background;
    private final Map<Integer, Channel> channels = new HashMap<>();
    private List<CompletableFuture<Command>> asked = List.of();
    private List<SlotBlock> blocks = List.of();
    private List<Integer> free = List.of();
    private int failedLimit;
    private long again = System.nanoTime();

    /** Knows nothing yet. What may block is done in the background. */
    HolderCounts(QueueNames names, Executor background) {
        this.names = names;
        this.background = background;
    }

    /** Asks for the counts while the limit is so much. Does not wait for them. */
    void ask(int limit, HolderConnection holder) {
        answers();
        askNothing(limit);
        if (limit == failedLimit && again - System.nanoTime() > 0) {
            return;
        }
        asked = new ArrayList<>();
        for (int i = 0; i < blocks.size(); i++) {
            asked.add(askAt(i, holder));
        }
    }

    /** Knows nothing, while the limit is so much. */
    void askNothing(int limit) {
        blocks = SlotBlock.upTo(limit);
        free = blocks.stream().map(SlotBlock::size).toList();
        asked = List.of();
    }

    /** On a channel for each, since the client library lets one request wait for the answer to another. */
    private CompletableFuture<Command> askAt(int index, HolderConnection holder) {
        try {
            Channel channel = channel(index, holder);
            return channel.asyncCompletableRpc(new AMQP.Queue.Declare.Builder()
                    .queue(names.count(blocks.get(index)))
                    .passive()
                    .build());
        } catch (IOException | ShutdownSignalException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private Channel channel(int index, HolderConnection holder) throws IOException {
        Channel present = channels.get(index);
        if (present == null || !present.isOpen()) {
            present = holder.openSpare(Deadline.after(System.nanoTime(), HolderCount.PATIENCE));
            if (present == null) {
                throw new IOException("no channel to read counts with");
            }
            channels.put(index, present);
        }
        return present;
    }

    /** Waits for what was asked for, but not for long. */
    private void answers() {
        List<Integer> most = new ArrayList<>();
        Deadline end = Deadline.after(System.nanoTime(), HolderCount.PATIENCE);
        for (int i = 0; i < asked.size(); i++) {
            int size = blocks.get(i).size();
            most.add(Math.max(0, size - count(i, end)));
        }
        if (!asked.isEmpty()) {
            free = most;
            asked = List.of();
        }
    }

    private int count(int index, Deadline end) {
        try {
            return InterruptShield.await(asked.get(index), end).getMethod() instanceof AMQP.Queue.DeclareOk answer
                    ? answer.getConsumerCount()
                    : 0;
        } catch (ExecutionException | TimeoutException e) {
            Channel channel = channels.remove(index);
            if (channel != null) {
                background.execute(() -> HolderConnection.abort(channel));
            }
            failedLimit = blocks.get(blocks.size() - 1).last();
            again = System.nanoTime() + HolderCount.PAUSE_NANOS;
            return 0;
        }
    }

    /** How many slots can be free at most, those included that this session has taken and not counted yet. */
    int mostFree() {
        answers();
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
        answers();
        List<Integer> order = new ArrayList<>(candidates);
        if (order.size() > ProbeChannel.MOST_AT_ONCE) {
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
