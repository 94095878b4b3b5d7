package io.github.distributedsemaphore.tck.watch;

import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.run.ThreadDump;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.TestReporter;

/**
 * Two threads that do two things at the same moment, again and again: ten thousand times in a full run. Which of them comes first is varied a little in
 * each round by the random numbers of the test.
 */
public final class Race {
    private static final int MOST = 10_000;
    private static final int LEAST = 300;
    private static final Duration BUDGET = Duration.ofMillis(2_500);
    private static final int JITTER_NANOS = 20_000;

    private static final int MOST_SPINS = 1_000;

    /** The longest sleep. The other side ends it sooner when it arrives. A side that failed does not. */
    private static final long NAP_NANOS = 10_000_000;

    /** A thread that sleeps wakes that much late. */
    private static final long LATE_NANOS = 100_000;

    private final TckFixture tck;
    private final Runner here = new Runner();
    private final Runner there = new Runner();
    private volatile boolean over;
    private volatile boolean broken;
    private volatile int jitter;

    private Race(TckFixture tck) {
        this.tck = tck;
    }

    /** One of the two threads. It counts the meetings that it has come to, and those for which it is awake. */
    private static final class Runner {
        private final AtomicLong arrived = new AtomicLong();
        private final AtomicLong awake = new AtomicLong();
        private volatile @Nullable Thread asleep;
    }

    /** One side of a round. */
    @FunctionalInterface
    public interface Side {
        void run(int round) throws Exception;
    }

    /**
     * Runs the races: ten thousand, or as many as there is time for, but not fewer than three hundred.
     *
     * @param before prepares a round, on the thread of the test
     * @param first one side, on the thread of the test
     * @param second the other side, on another thread
     * @param after looks at what came of it, on the thread of the test
     */
    public static void run(TckFixture tck, TestReporter reporter, Side before, Side first, Side second, Side after)
            throws Exception {
        int rounds = new Race(tck).rounds(before, first, second, after);
        reporter.publishEntry("races", Integer.toString(rounds));
    }

    private int rounds(Side before, Side first, Side second, Side after) throws Exception {
        Task<Boolean> opponent = tck.spawn("the other side of the race", () -> oppose(second));
        long start = System.nanoTime();
        int round = 0;
        try {
            while (round < MOST && (round < LEAST || inBudget(start))) {
                before.run(round);
                jitter = tck.random().nextInt(2 * JITTER_NANOS) - JITTER_NANOS;
                if (!meet(here, there)) {
                    break;
                }
                spin(jitter);
                first.run(round);
                if (!meet(here, there)) {
                    break;
                }
                after.run(round);
                round++;
            }
        } catch (Exception | Error e) {
            broken = true;
            throw e;
        }
        over = true;
        meet(here, there);
        opponent.result();
        return round;
    }

    private boolean inBudget(long start) {
        return System.nanoTime() - start < tck.budget(BUDGET).toNanos();
    }

    private boolean oppose(Side second) throws Exception {
        try {
            for (int round = 0; meet(there, here) && !over; round++) {
                spin(-jitter);
                second.run(round);
                meet(there, here);
            }
            return true;
        } catch (Exception | Error e) {
            broken = true;
            throw e;
        }
    }

    /**
     * Waits for the other side; false if it failed. The side that comes first sleeps. The other one wakes it and waits until it is awake,
     * so both leave at the same moment. Deaf to interrupts, which may be part of the race.
     */
    private boolean meet(Runner mine, Runner other) {
        long turn = mine.arrived.incrementAndGet();
        LockSupport.unpark(other.asleep);
        long start = System.nanoTime();
        for (int spins = 0; other.arrived.get() < turn && !broken; spins++) {
            if (spins < MOST_SPINS) {
                Thread.onSpinWait();
            } else {
                sleep(mine, other, turn);
                assertNoHang(start);
            }
        }
        mine.awake.incrementAndGet();
        for (int spins = 0; other.awake.get() < turn && !broken; spins++) {
            if (spins < MOST_SPINS) {
                Thread.onSpinWait();
            } else {
                Occupancy.letOthersIn();
            }
        }
        return !broken;
    }

    /** An interrupted thread does not sleep. */
    private void sleep(Runner mine, Runner other, long turn) {
        mine.asleep = Thread.currentThread();
        if (other.arrived.get() < turn && !broken) {
            LockSupport.parkNanos(NAP_NANOS);
        }
        mine.asleep = null;
        if (Thread.currentThread().isInterrupted()) {
            Occupancy.letOthersIn();
        }
    }

    private void assertNoHang(long start) {
        if (System.nanoTime() - start > tck.patience().multipliedBy(2).toNanos()) {
            throw new AssertionError("the other side of the race hangs\n" + ThreadDump.all());
        }
    }

    /** Lets a time pass, to the microsecond and without a processor for most of a longer one. */
    public static void pass(long nanos) {
        long end = System.nanoTime() + nanos;
        if (nanos > LATE_NANOS) {
            LockSupport.parkNanos(nanos - LATE_NANOS);
        }
        spinUntil(end);
    }

    private static void spin(int nanos) {
        spinUntil(System.nanoTime() + nanos);
    }

    private static void spinUntil(long end) {
        while (end - System.nanoTime() > 0) {
            Thread.onSpinWait();
        }
    }
}
