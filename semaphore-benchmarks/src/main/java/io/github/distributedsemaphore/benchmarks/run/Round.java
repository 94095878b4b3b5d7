package io.github.distributedsemaphore.benchmarks.run;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.RoundReport;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import io.github.distributedsemaphore.benchmarks.contestants.Contestant;
import io.github.distributedsemaphore.benchmarks.contestants.Pass;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * One process' part of one round: each thread acquires, holds and releases in a closed loop until the time is over. Who waits
 * then still gets a permit, so that waits are counted whole; a pair that ends after the time does not count.
 */
final class Round {
    /** Beyond the time of the round; a thread that waits for longer is stuck. */
    private static final long STUCK_SECONDS = 30;

    private final Variant variant;
    private final Contestant contestant;
    private final HolderWatch watch;
    private final int process;
    private final CountDownLatch ready;
    private final CountDownLatch go = new CountDownLatch(1);
    private final List<Runner> runners = new ArrayList<>();
    private volatile long end;

    Round(Variant variant, Contestant contestant, HolderWatch watch, int process) {
        this.variant = variant;
        this.contestant = contestant;
        this.watch = watch;
        this.process = process;
        this.ready = new CountDownLatch(variant.threads());
        for (int thread = 0; thread < variant.threads(); thread++) {
            runners.add(new Runner(thread));
        }
    }

    /** Starts the threads, and returns when all stand at the barrier. */
    void prepare() throws InterruptedException {
        runners.forEach(Thread::start);
        ready.await();
    }

    /** Opens the barrier, and returns when all threads are through. */
    RoundReport run(long millis) throws InterruptedException {
        Meter meter = new Meter();
        end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        go.countDown();
        RoundReport.Builder report = new RoundReport.Builder();
        long stuck = end + TimeUnit.SECONDS.toNanos(STUCK_SECONDS);
        for (Runner runner : runners) {
            runner.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(stuck - System.nanoTime())));
            if (runner.isAlive()) {
                throw new BrokenRunException(
                        variant.name() + ": a thread still waits " + STUCK_SECONDS + " s after the end of the round");
            }
            runner.addTo(report);
        }
        long allocatedByRunners =
                runners.stream().mapToLong(runner -> runner.allocatedBytes).sum();
        return report.build(meter.cpuNanos(), meter.allocatedBytes() + allocatedByRunners);
    }

    /**
     * What this process uses from now on. The runners have ended when it is read, so they say themselves what they allocated;
     * what other threads allocated that have ended meanwhile is not seen.
     */
    private static final class Meter {
        private static final OperatingSystemMXBean SYSTEM =
                ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        private static final ThreadMXBean THREADS = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);

        private final Map<Long, Long> allocatedBefore = allocatedByThreads();
        private final long cpuBefore = SYSTEM.getProcessCpuTime();

        static long allocatedByThisThread() {
            return THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
        }

        private static Map<Long, Long> allocatedByThreads() {
            long[] ids = THREADS.getAllThreadIds();
            long[] bytes = THREADS.getThreadAllocatedBytes(ids);
            Map<Long, Long> allocated = new HashMap<>();
            for (int i = 0; i < ids.length; i++) {
                allocated.put(ids[i], Math.max(0, bytes[i])); // -1: it has just ended
            }
            return allocated;
        }

        long cpuNanos() {
            return SYSTEM.getProcessCpuTime() - cpuBefore;
        }

        long allocatedBytes() {
            return allocatedByThreads().entrySet().stream()
                    .mapToLong(now -> Math.max(0, now.getValue() - allocatedBefore.getOrDefault(now.getKey(), 0L)))
                    .sum();
        }
    }

    private final class Runner extends Thread {
        private final int number;
        private final Histogram acquire = RoundReport.histogram();
        private final Histogram handOver = RoundReport.histogram();
        private long pairs;
        private long heldNanos;
        private long allocatedBytes;
        private @Nullable Throwable failure;

        Runner(int number) {
            super("bench-" + variant.name() + "-" + number);
            this.number = number;
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                ready.countDown();
                go.await();
                for (int name = number % variant.names(); takeTurn(name); name = (name + 1) % variant.names()) {
                    pairs++;
                }
                allocatedBytes = Meter.allocatedByThisThread();
            } catch (InterruptedException | RuntimeException | Error e) {
                failure = e;
            }
        }

        /** Returns whether it was over in time. */
        private boolean takeTurn(int name) throws InterruptedException {
            long asked = System.nanoTime();
            if (asked - end >= 0) {
                return false;
            }
            Pass pass = contestant.acquire(number, name);
            long got = System.nanoTime();
            acquire.recordValue(got - asked);
            if (!variant.mode().excludes()) {
                pass.giveBack().run();
                return System.nanoTime() - end < 0;
            }
            watch.enter(name, pass);
            if (variant.limit() == 1) {
                long released = watch.releasedElsewhere(process, asked);
                if (released != 0) {
                    handOver.recordValue(Math.max(1, got - released));
                }
            }
            hold(got);
            heldNanos += Math.max(0, earlier(System.nanoTime(), end) - got);
            if (variant.limit() == 1) {
                watch.releasing(process);
            }
            watch.leave(name, pass);
            pass.giveBack().run();
            return System.nanoTime() - end < 0;
        }

        private void hold(long since) {
            long nanos = TimeUnit.MICROSECONDS.toNanos(variant.holdMicros());
            for (long left = nanos; left > 0; left = nanos - (System.nanoTime() - since)) {
                LockSupport.parkNanos(left);
            }
        }

        private static long earlier(long one, long other) {
            return one - other < 0 ? one : other;
        }

        void addTo(RoundReport.Builder report) {
            if (failure != null) {
                throw new BrokenRunException(variant.name() + ": a thread failed", failure);
            }
            report.add(pairs, heldNanos, acquire, handOver);
        }
    }
}
