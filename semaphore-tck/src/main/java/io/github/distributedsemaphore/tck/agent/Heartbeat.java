package io.github.distributedsemaphore.tck.agent;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ThreadFactory;

/**
 * Measures for how long the machine itself stood still: a thread that sleeps five milliseconds at a time notes how late it, and one that
 * it starts then, woke. It starts one each time for a while after something was much too late, and else each fourth time. What a bound is compared
 * with is the time less these pauses; the bound stays what it is. Thread-safe.
 */
public final class Heartbeat implements AutoCloseable {
    private static final Duration PERIOD = Duration.ofMillis(5);

    /** A new thread takes a third of a millisecond of processor time, and every JVM of a kit has a heartbeat. */
    private static final int BEATS_PER_THREAD = 4;

    /** A machine that was late for one may be late for the next. */
    private static final int THREADS_AFTER_LATENESS = 10;

    private static final Duration MOST = Duration.ofMinutes(1);
    /** No bound is longer. */
    private static final long REMEMBERED_NANOS = MOST.toNanos() * 5;

    /** A sleep ends that much late on a machine that has nothing else to do. */
    private static final long USUAL_NANOS = 1_000_000;

    /** A busy machine is late by some milliseconds all the time. New threads at each beat would make it busier yet. */
    private static final long MUCH_NANOS = 10_000_000;

    private final Deque<Gap> gaps = new ArrayDeque<>();
    private final Duration period;
    private final Runnable errand;
    private final ThreadFactory hops;
    private long lastBeat = System.nanoTime();
    private int beatsSinceLateness;
    private boolean over;

    record Gap(long from, long to) {
        /** How much of it lies between two instants. */
        long within(long begin, long end) {
            long later = from - begin > 0 ? from : begin;
            long earlier = to - end < 0 ? to : end;
            return Math.max(0, earlier - later);
        }
    }

    /** Starts it. */
    public Heartbeat() {
        this(hop -> new Thread(hop, "tck-heartbeat hop"));
    }

    Heartbeat(ThreadFactory hops) {
        this(PERIOD, () -> {}, hops);
    }

    /**
     * Starts one that has to do something at each beat. How long that takes counts as a pause.
     *
     * @param period how long it sleeps between two beats
     * @param errand what it has to do, such as to ask a server; throws nothing
     */
    public Heartbeat(Duration period, Runnable errand) {
        this(period, errand, hop -> new Thread(hop, "tck-heartbeat hop"));
    }

    private Heartbeat(Duration period, Runnable errand, ThreadFactory hops) {
        this.period = period;
        this.errand = errand;
        this.hops = hops;
        Thread thread = new Thread(this::run, "tck-heartbeat");
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        try {
            while (!isOver()) {
                long due = System.nanoTime() + period.toNanos();
                Thread.sleep(period.toMillis());
                if (needsThread()) {
                    hop(due);
                } else {
                    arrive(due);
                }
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts a heartbeat", e);
        } finally {
            // It may end because no thread can be made. Nobody is to wait for a beat then.
            close();
        }
    }

    /** The end of a call passes from a timer to a worker to its caller: so does this beat, to a thread that is new each time. */
    private void hop(long due) throws InterruptedException {
        Thread hop = hops.newThread(() -> arrive(due));
        hop.setDaemon(true);
        hop.start();
        hop.join(MOST.toMillis());
    }

    private void arrive(long due) {
        try {
            errand.run();
        } finally {
            // Or else whoever asks would wait for a beat without end.
            beat(due);
        }
    }

    private synchronized boolean isOver() {
        return over;
    }

    private synchronized boolean needsThread() {
        return beatsSinceLateness < THREADS_AFTER_LATENESS || beatsSinceLateness % BEATS_PER_THREAD == 0;
    }

    private synchronized void beat(long due) {
        lastBeat = System.nanoTime();
        beatsSinceLateness = lastBeat - due > MUCH_NANOS ? 0 : beatsSinceLateness + 1;
        if (lastBeat - due > USUAL_NANOS) {
            gaps.add(new Gap(due, lastBeat));
            while (lastBeat - gaps.getFirst().to() > REMEMBERED_NANOS) {
                gaps.removeFirst();
            }
        }
        notifyAll();
    }

    /**
     * Says for how long nothing ran.
     *
     * @param from since when, as {@link System#nanoTime} says
     * @param to until when; this has passed
     * @return the nanoseconds
     */
    public synchronized long stoodStill(long from, long to) {
        awaitBeat(to);
        return gaps.stream().mapToLong(gap -> gap.within(from, to)).sum();
    }

    /**
     * Says for how long nothing ran at a stretch.
     *
     * @param from since when, as {@link System#nanoTime} says; at most five minutes ago
     * @param to until when; this has passed
     * @return the nanoseconds of the longest pause
     */
    public synchronized long longestPause(long from, long to) {
        awaitBeat(to);
        return gaps.stream().mapToLong(gap -> gap.within(from, to)).max().orElse(0);
    }

    /**
     * Says how much of the worst stretch of that length the machine stood still.
     *
     * @param time the length of the stretch
     * @param from since when, as {@link System#nanoTime} says; at most five minutes ago
     * @param to until when; this has passed
     * @return the nanoseconds that were pauses
     */
    public synchronized long mostStoodStill(Duration time, long from, long to) {
        awaitBeat(to);
        return mostStoodStill(gaps, time.toNanos(), from, to);
    }

    /** A stretch that ends with a pause is always among the worst. */
    static long mostStoodStill(Iterable<Gap> gaps, long nanos, long from, long to) {
        Deque<Gap> within = new ArrayDeque<>();
        long most = 0;
        long sum = 0;
        for (Gap gap : gaps) {
            within.add(gap);
            sum += gap.within(from, to);
            long begin = (to - gap.to() < 0 ? to : gap.to()) - nanos;
            while (within.size() > 1 && within.getFirst().to() - begin <= 0) {
                sum -= within.removeFirst().within(from, to);
            }
            most = Math.max(most, sum - within.getFirst().within(from, begin));
        }
        return most;
    }

    private synchronized void awaitBeat(long to) {
        while (lastBeat - to < 0 && !over) {
            try {
                wait(PERIOD.toMillis());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError("interrupted", e);
            }
        }
    }

    @Override
    public synchronized void close() {
        over = true;
    }
}
