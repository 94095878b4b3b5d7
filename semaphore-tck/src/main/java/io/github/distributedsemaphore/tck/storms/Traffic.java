package io.github.distributedsemaphore.tck.storms;

import java.util.concurrent.atomic.AtomicInteger;

/** How busy the workers of a history are, while they work. Thread-safe. */
final class Traffic {
    private static final int NOBODY = -1;

    private final AtomicInteger grants = new AtomicInteger();
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger most = new AtomicInteger();
    private volatile int isolated = NOBODY;
    /** How many faults have begun and how many have ended: odd while there is one. */
    private final AtomicInteger faults = new AtomicInteger();

    void enter() {
        grants.incrementAndGet();
        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
    }

    void leave() {
        inside.decrementAndGet();
    }

    /** From now on there is a fault. */
    void beginFault() {
        faults.incrementAndGet();
    }

    void endFault() {
        faults.incrementAndGet();
    }

    /** How many beginnings and ends of faults there were. */
    int faults() {
        return faults.get();
    }

    /** Whether there is a fault that began later than that. */
    boolean isDisturbedSince(int before) {
        int now = faults.get();
        return now % 2 == 1 && now > before;
    }

    /** From now on a client is cut off for so long that it loses what it holds; some of its workers hold on meanwhile. */
    void isolate(int client) {
        isolated = client;
    }

    void endIsolation() {
        isolated = NOBODY;
    }

    boolean isIsolated(int client) {
        return isolated == client;
    }

    /** Whether there were that many grants, and that many workers at once had one. */
    boolean reached(long leastGrants, int held) {
        return grants.get() >= leastGrants && most.get() >= held;
    }
}
