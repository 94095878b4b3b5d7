package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.InterruptShield;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Leaves other clients a turn. Who has just given back a slot knows the index of the list and takes it again in one round trip;
 * who waits for it elsewhere has to hear of it and to read first, and would come too late each time. For one thread at a time.
 */
final class Turns {
    private static final int LONGEST_RUN = 8;
    private static final long LONGEST_RUN_NANOS = 50_000_000;
    private static final long SHORTEST_TURN_NANOS = 5_000_000;
    private static final long LONGEST_TURN_NANOS = 15_000_000;

    private int run;
    private long sinceNanos;

    /** Counts grants. */
    void granted(int number) {
        if (run == 0) {
            sinceNanos = System.nanoTime();
        }
        run += number;
    }

    /** Somebody else has had a turn. */
    void begin() {
        run = 0;
    }

    /**
     * Waits a little before callers that can wait are served, if this client took slots for long without a break; returns whether
     * it did. What is to be given back does not wait.
     */
    boolean leave(ExchangeRequest request, InterruptShield shield) {
        boolean canWait = request.waiting()
                && request.wants().size() > request.attempts()
                && request.giveBack().isEmpty();
        if (!canWait || run == 0 || (run < LONGEST_RUN && System.nanoTime() - sinceNanos < LONGEST_RUN_NANOS)) {
            return false;
        }
        begin();
        shield.pause(ThreadLocalRandom.current().nextLong(SHORTEST_TURN_NANOS, LONGEST_TURN_NANOS));
        return true;
    }
}
