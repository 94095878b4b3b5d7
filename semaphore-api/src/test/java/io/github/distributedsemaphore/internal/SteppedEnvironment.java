package io.github.distributedsemaphore.internal;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Time and tasks that a test moves step by step, all on its own thread: whoever parks runs what is due until it is woken, and
 * if nothing is, the clock jumps to the next timer. So an interleaving is written down, not hoped for.
 */
final class SteppedEnvironment implements Environment {
    private final Deque<Runnable> tasks = new ArrayDeque<>();
    private final PriorityQueue<Due> timers = new PriorityQueue<>();
    private final List<Throwable> thrown = new ArrayList<>();
    private long now = Long.MAX_VALUE - 1_000_000;
    private long sequence;
    private long late;
    private Runnable whenParked = () -> {};
    private Runnable beforeEachTask = () -> {};
    private String checkpoint = "";
    private Runnable atCheckpoint = () -> {};
    private String starved = "";

    @Override
    public long nanoTime() {
        return now;
    }

    @Override
    public void execute(Runnable task) {
        tasks.add(task);
    }

    @Override
    public Timer schedule(Runnable task, long delayNanos) {
        if (!starved.isEmpty()
                && StackWalker.getInstance()
                        .walk(frames ->
                                frames.anyMatch(frame -> frame.getMethodName().equals(starved)))) {
            starved = "";
            throw new OutOfMemoryError("as a test wants it");
        }
        Due timer = new Due(now + Math.max(0, delayNanos), sequence++, task);
        timers.add(timer);
        return () -> timers.remove(timer);
    }

    /** May wake for no reason, as any park may. */
    @Override
    public void park(Object blocker, long nanos) {
        whenParked.run();
        if (Thread.currentThread().isInterrupted()) {
            return;
        }
        Runnable task = tasks.poll();
        if (task != null) {
            run(task);
        } else if (!timers.isEmpty() && (nanos == Long.MAX_VALUE || timers.element().at - (now + nanos) <= 0)) {
            fireNext();
        } else if (nanos != Long.MAX_VALUE) {
            now += nanos;
        } else {
            throw new AssertionError("waits without end: nothing will wake " + blocker);
        }
    }

    @Override
    public void unpark(Thread thread) {
        // A park returns after each step.
    }

    @Override
    public long random(long bound) {
        return bound / 2;
    }

    @Override
    public void close() {
        timers.clear();
    }

    /** Has something done each time that somebody parks. */
    void whenParked(Runnable action) {
        whenParked = action;
    }

    /** Has something done each time before a task runs. */
    void beforeEachTask(Runnable action) {
        beforeEachTask = action;
    }

    /** Runs the tasks that are due, and those that they bring. */
    void settle() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            run(task);
        }
    }

    /** Has something done once, when the engine comes to a checkpoint in that method: between two sections of the lock. */
    void atNextCheckpointIn(String method, Runnable action) {
        checkpoint = method;
        atCheckpoint = action;
    }

    @Override
    public void checkpoint() {
        if (checkpoint.equals(Thread.currentThread().getStackTrace()[2].getMethodName())) {
            checkpoint = "";
            atCheckpoint.run();
        }
    }

    /** Lets time pass and does what is due on the way. */
    void pass(long nanos) {
        long end = now + nanos;
        settle();
        while (!timers.isEmpty() && timers.element().at - end <= 0) {
            fireNext();
            settle();
        }
        now = end - now > 0 ? end : now;
    }

    /** Lets time pass in which this process does not run: what was due meanwhile has not been done yet. */
    void freeze(long nanos) {
        now += nanos;
    }

    /** From now on timers fire a little late, as real ones do, so that they drift apart. */
    void fireLateBy(long nanos) {
        late = nanos;
    }

    /** Finds no memory for the next timer that this method sets, itself or by others. */
    void failNextTimerOf(String method) {
        starved = method;
    }

    int timers() {
        return timers.size();
    }

    /** What tasks threw; a real environment logs it. */
    List<Throwable> thrown() {
        return thrown;
    }

    private void fireNext() {
        Due timer = timers.remove();
        now = timer.at - now > 0 ? timer.at + late : now;
        tasks.add(timer.task);
    }

    private void run(Runnable task) {
        beforeEachTask.run();
        try {
            task.run();
        } catch (RuntimeException | OutOfMemoryError e) {
            thrown.add(e);
        }
    }

    private record Due(long at, long sequence, Runnable task) implements Comparable<Due> {
        @Override
        public int compareTo(Due other) {
            long difference = at - other.at;
            return difference != 0 ? Long.signum(difference) : Long.compare(sequence, other.sequence);
        }
    }
}
