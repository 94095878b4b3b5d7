package io.github.distributedsemaphore.tck.history;

import io.github.distributedsemaphore.Permit;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Records what the threads of this JVM do with one semaphore. Each thread writes into a {@linkplain ProcessLog log} of its
 * own; nothing is written out before the end. Thread-safe.
 */
public final class HistoryRecorder {
    private final String prefix;
    private final boolean fencing;
    private final AtomicLong holds;
    private final Queue<ProcessLog> logs = new ConcurrentLinkedQueue<>();
    private final Queue<Operation> others = new ConcurrentLinkedQueue<>();

    /**
     * Creates it.
     *
     * @param prefix what the names of its processes begin with, different for each recorder of a history; no spaces
     * @param fencing whether permits have fences
     */
    public HistoryRecorder(String prefix, boolean fencing) {
        this.prefix = prefix;
        this.fencing = fencing;
        this.holds = new AtomicLong((long) prefix.hashCode() << 32);
    }

    /**
     * Starts the log of one more thread.
     *
     * @return the log, for one thread
     */
    public ProcessLog process() {
        ProcessLog log = new ProcessLog(this, prefix + logs.size());
        logs.add(log);
        return log;
    }

    /**
     * Returns what was recorded, after all threads have ended.
     *
     * @param limit the limit at the beginning
     * @return the history
     */
    public History history(int limit) {
        List<Operation> operations = new ArrayList<>(others);
        logs.forEach(log -> operations.addAll(log.operations()));
        return new History(limit, operations);
    }

    /**
     * Adds what somebody did that has no log here, such as another process.
     *
     * @param operation what
     */
    public void add(Operation operation) {
        others.add(operation);
    }

    /**
     * Adds a change of the limit that has just returned.
     *
     * @param limit the new limit
     * @param invoked when it was called, on the scale of {@link System#nanoTime}
     * @param outcome how it ended
     */
    public void resized(int limit, long invoked, Operation.Outcome outcome) {
        add(new Operation(
                "admin",
                Operation.Kind.RESIZE,
                invoked,
                System.nanoTime(),
                outcome,
                limit,
                List.of(),
                Operation.NEVER));
    }

    /**
     * Numbers a permit of a client that has no log here.
     *
     * @param slot its slot
     * @param epoch its epoch; {@link HeldSlot#NO_EPOCH} without fencing
     * @return how the history calls it
     */
    public HeldSlot held(int slot, long epoch) {
        return new HeldSlot(holds.incrementAndGet(), slot, epoch);
    }

    HeldSlot held(Permit permit) {
        return held(permit.slot(), fencing ? permit.fence().epoch() : HeldSlot.NO_EPOCH);
    }

    void lost(String process, HeldSlot held) {
        long now = System.nanoTime();
        others.add(new Operation(
                process, Operation.Kind.LOSS, now, now, Operation.Outcome.OK, 1, List.of(held), Operation.NEVER));
    }
}
