package io.github.distributedsemaphore.tck.watch;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.tck.fixture.Task;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts the holders at each instant, from inside the process and without asking any backend: entered after an acquire
 * returned and left before the release is called. Thread-safe.
 */
public final class Occupancy {
    private final int limit;
    private final AtomicInteger held = new AtomicInteger();
    private final ConcurrentMap<Integer, Thread> slots = new ConcurrentHashMap<>();
    private final Queue<String> violations = new ConcurrentLinkedQueue<>();

    public Occupancy(int limit) {
        this.limit = limit;
    }

    public void enter(Permit permit) {
        int now = held.incrementAndGet();
        if (now > limit) {
            violations.add(now + " permits are held at one instant, the limit is " + limit);
        }
        if (slots.putIfAbsent(permit.slot(), Thread.currentThread()) != null) {
            violations.add("slot " + permit.slot() + " is held twice at one instant");
        }
    }

    public void leave(Permit permit) {
        slots.remove(permit.slot());
        held.decrementAndGet();
    }

    /** Holds a permit for a moment in which others get a chance to break in. */
    public void visit(Permit permit) {
        enter(permit);
        letOthersIn();
        leave(permit);
    }

    /** Gives other threads a chance to break in where they must not. Not relied on. */
    @SuppressWarnings("ThreadPriorityCheck")
    public static void letOthersIn() {
        Thread.yield();
    }

    /** Waits for the tasks that enter and leave. Reports first if too many held: that explains what else went wrong. */
    public void assertNeverExceededBy(List<Task<Void>> tasks) throws Exception {
        Exception failure = null;
        AssertionError error = null;
        for (Task<Void> task : tasks) {
            try {
                task.result();
            } catch (AssertionError e) {
                error = e;
            } catch (Exception e) {
                failure = e;
            }
        }
        assertNeverExceeded();
        if (error != null) {
            throw error;
        }
        if (failure != null) {
            throw failure;
        }
    }

    public void assertNeverExceeded() {
        if (!violations.isEmpty()) {
            throw new AssertionError(violations.size() + " times too many, first: " + violations.peek());
        }
    }
}
