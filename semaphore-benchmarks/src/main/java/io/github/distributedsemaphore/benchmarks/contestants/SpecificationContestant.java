package io.github.distributedsemaphore.benchmarks.contestants;

import io.github.distributedsemaphore.benchmarks.cells.Variant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * The persistent semaphore as its specification has it, on a connection of each thread's own: A and B queues are looked at one by
 * one from 1 on, the first B that is missing is declared, a race that is lost starts over after a random time, and the slot is
 * verified before it counts. A client that finds no slot asks again after a random time: the specification knows no waiting.
 */
final class SpecificationContestant implements Contestant {
    private static final long LONGEST_SKEW_NANOS = 2_000_000;

    private final Variant variant;
    private final List<AmqpQueues> connections = new ArrayList<>();

    SpecificationContestant(Variant variant, String uri) {
        this.variant = variant;
        for (int thread = 0; thread < variant.threads(); thread++) {
            connections.add(new AmqpQueues(uri));
        }
        for (int slot = 1; slot <= variant.limit(); slot++) {
            connections.get(0).make(variant.semaphore(0) + "-" + slot + "-A");
        }
    }

    /** The queue that is a hold. */
    static String hold(Variant variant, int slot) {
        return variant.semaphore(0) + "-" + slot + "-B";
    }

    @Override
    public Pass acquire(int thread, int name) {
        AmqpQueues queues = connections.get(thread);
        while (true) {
            int slot = take(queues);
            if (slot > 0) {
                return new Pass(slot, System.nanoTime(), () -> queues.delete(hold(variant, slot)));
            }
            LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(LONGEST_SKEW_NANOS));
        }
    }

    /** Returns the slot; 0 if there is none, or the race for it was lost. */
    private int take(AmqpQueues queues) {
        int slot = 1;
        while (queues.exists(variant.semaphore(0) + "-" + slot + "-A")) {
            if (!queues.exists(hold(variant, slot))) {
                return queues.declare(hold(variant, slot)) && queues.exists(variant.semaphore(0) + "-" + slot + "-A")
                        ? slot
                        : 0;
            }
            slot++;
        }
        return 0;
    }

    @Override
    public void close() {
        connections.forEach(AmqpQueues::close);
    }
}
