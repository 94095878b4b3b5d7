package io.github.distributedsemaphore.tck;

import java.util.concurrent.atomic.AtomicInteger;

/** How busy the workers of a history are, while they work. Thread-safe. */
final class Traffic {
    private final AtomicInteger grants = new AtomicInteger();
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger most = new AtomicInteger();

    void enter() {
        grants.incrementAndGet();
        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
    }

    void leave() {
        inside.decrementAndGet();
    }

    /** Whether there were that many grants, and that many workers at once had one. */
    boolean reached(long leastGrants, int held) {
        return grants.get() >= leastGrants && most.get() >= held;
    }
}
