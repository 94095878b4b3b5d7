package io.github.distributedsemaphore.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides which thread talks to the backend: one at a time, for everybody (flat combining, after Hendler, Incze, Shavit and
 * Tzafrir, "Flat Combining and the Synchronization-Parallelism Tradeoff", 2010). A thread that brings work and finds nobody at
 * it does what is pending for all. So a thread that is alone pays for no change of threads, and a crowd pays for one round trip.
 *
 * <p>A caller that has a time limit, or may be interrupted, never waits in the backend. It only {@linkplain Step#begin begins} a
 * step, and waits for it as it waits for everything else; what cannot be begun without waiting goes to a worker. Callers
 * without either do whole steps themselves.
 *
 * <p>The lock of the coordinator is here. Between two steps it is taken once: what follows from the first is done, and the next is
 * chosen.
 */
final class Combiner {
    private static final Logger LOG = LoggerFactory.getLogger(Combiner.class);

    /** What follows from a step from which nothing follows. */
    static final Runnable NOTHING = () -> {};

    /** One thing to do at the backend. Runs without the lock, and no other step runs until it has ended. */
    @FunctionalInterface
    interface Step {
        /**
         * Does it, on a thread that may wait.
         *
         * @return what follows, to be done under the lock
         */
        Runnable perform();

        /**
         * Begins it on a thread that must not wait.
         *
         * @return completes with what follows, never with a failure; null if it cannot be begun without waiting
         */
        default @Nullable CompletableFuture<Runnable> begin() {
            return null;
        }
    }

    /** What there is to do. All is called under the lock. */
    interface Work {
        /** Returns whether something is due. If it is due only later, plans to look again then. */
        boolean look();

        /** Takes the next thing to do; null if there is none. */
        @Nullable
        Step next();

        /** Has a thread that waits do what there is to do; returns false if no thread waits that could do it. */
        boolean wakeWaiter();
    }

    /** A call whose thread does steps while it waits. All is called under the lock. */
    interface Caller {
        boolean isDone();

        /** Has its thread do what there is to do; returns false if there is no such thread. */
        boolean wakeToDrive();
    }

    final Lock lock;
    private final Environment environment;

    @GuardedBy("lock")
    private @Nullable Work work;

    /** A step has been taken and has not ended. */
    @GuardedBy("lock")
    private boolean busy;

    /** What follows from a step that was begun; it waits for a thread. */
    @GuardedBy("lock")
    private @Nullable Runnable landed;

    /** The caller that took the step under way, if it must not wait for the backend. */
    @GuardedBy("lock")
    private @Nullable Caller driver;

    /** A worker is on its way. */
    @GuardedBy("lock")
    private boolean passedOn;

    @GuardedBy("lock")
    private @Nullable Thread closer;

    Combiner(Lock lock, Environment environment) {
        this.lock = lock;
        this.environment = environment;
    }

    /** Once, before anything else. */
    void start(Work source) {
        lock.lock();
        try {
            work = source;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Works while there is work, nobody else is at it, and the caller is not done. Never waits for another thread.
     *
     * @param caller the call whose thread this is, if that must not wait for the backend; null if it may
     */
    void drive(BooleanSupplier done, @Nullable Caller caller) {
        Step first;
        lock.lock();
        try {
            first = next(done, caller);
        } finally {
            lock.unlock();
        }
        drive(first, done, caller);
    }

    /** The same, from a step that was taken. */
    void drive(@Nullable Step first, BooleanSupplier done, @Nullable Caller caller) {
        Step step = first;
        while (step != null) {
            environment.checkpoint();
            Runnable rest = run(step, caller);
            if (rest == null) {
                return;
            }
            environment.checkpoint();
            lock.lock();
            try {
                step = proceed(rest, done, caller);
            } finally {
                lock.unlock();
            }
        }
    }

    /** Does all there is to do, on a thread that may wait. */
    void driveAll() {
        drive(() -> false, null);
    }

    /** Does something under the lock, then all there is to do, also if that failed, on a thread that may wait. */
    void driveAfter(Runnable change) {
        Step first;
        lock.lock();
        try {
            logged(change);
            first = next(() -> false, null);
        } finally {
            lock.unlock();
        }
        drive(first, () -> false, null);
    }

    /** The same on a worker, after a delay. */
    Environment.Timer later(Runnable change, long delayNanos) {
        return environment.schedule(() -> driveAfter(change), delayNanos);
    }

    /** Works from a step that was taken, then waits for other threads that work, until done. An interrupt is kept for the caller. */
    void driveUntil(@Nullable Step first, BooleanSupplier done) {
        drive(first, done, null);
        environment.awaitUninterruptibly(this, done);
    }

    /** Waits until no step is under way, which is bounded by the backend. */
    void awaitRest() {
        environment.awaitUninterruptibly(this, this::isAtRest);
    }

    private boolean isAtRest() {
        lock.lock();
        try {
            closer = Thread.currentThread();
            return !busy;
        } finally {
            lock.unlock();
        }
    }

    /** Whether a step is under way. */
    @GuardedBy("lock")
    boolean isBusy() {
        return busy;
    }

    /** Takes the next step; null if there is none, or somebody is at one. What landed meanwhile is ended first. */
    @GuardedBy("lock")
    @Nullable
    Step next(BooleanSupplier done, @Nullable Caller caller) {
        Runnable rest = landed;
        if (rest != null) {
            landed = null;
            return proceed(rest, done, caller);
        }
        Step step = busy ? null : work().next();
        if (step != null) {
            busy = true;
            driver = caller;
        }
        return step;
    }

    /** Ends a step, and takes the next unless the caller is done. */
    @GuardedBy("lock")
    private @Nullable Step proceed(Runnable rest, BooleanSupplier done, @Nullable Caller caller) {
        logged(rest);
        busy = false;
        if (closer != null) {
            environment.unpark(closer);
        }
        if (done.getAsBoolean()) {
            wakeSomebody();
            return null;
        }
        return next(done, caller);
    }

    /** Returns what follows; null if another thread goes on with it. */
    private @Nullable Runnable run(Step step, @Nullable Caller caller) {
        if (caller == null) {
            return perform(step);
        }
        CompletableFuture<Runnable> begun = begin(step);
        if (begun == null) {
            environment.execute(() -> drive(step, () -> false, null));
            return null;
        }
        if (begun.isDone()) {
            return begun.join();
        }
        CompletionStage<Void> unused = begun.thenAccept(this::land);
        return null;
    }

    /** A step that throws is a bug of this library; it may have happened on any thread. */
    private static Runnable perform(Step step) {
        try {
            return step.perform();
        } catch (RuntimeException | Error e) {
            bug("A step of the semaphore client failed", e);
            return NOTHING;
        }
    }

    private static @Nullable CompletableFuture<Runnable> begin(Step step) {
        try {
            return step.begin();
        } catch (RuntimeException | Error e) {
            bug("A step of the semaphore client failed", e);
            return CompletableFuture.completedFuture(NOTHING);
        }
    }

    private static void logged(Runnable rest) {
        try {
            rest.run();
        } catch (RuntimeException | Error e) {
            bug("What follows from a step of the semaphore client failed", e);
        }
    }

    /** A log that throws too, for want of memory perhaps, must not keep the step from its end: nobody would go on. */
    private static void bug(String what, Throwable failure) {
        try {
            LOG.error(what, failure);
        } catch (RuntimeException | Error e) {
            // Nothing is left to be told.
        }
    }

    /** On a thread of the backend: the caller that began the step ends it, or if it has left, somebody else. */
    private void land(Runnable rest) {
        lock.lock();
        try {
            landed = rest;
            boolean woken = driver != null && !driver.isDone() && driver.wakeToDrive();
            driver = null;
            if (!woken) {
                wakeSomebody();
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Has another thread do what there is to do, if nobody is at it: the caller has what it wants, or wants no more, or must not
     * block. A thread that waits is asked first, for the sake of which it mostly is.
     */
    void passOn() {
        passOnAfter(NOTHING);
    }

    /** The same, after something that is done under the lock. */
    void passOnAfter(Runnable change) {
        lock.lock();
        try {
            change.run();
            wakeSomebody();
        } finally {
            lock.unlock();
        }
    }

    @GuardedBy("lock")
    private void wakeSomebody() {
        boolean due = landed != null || (!busy && work().look());
        if (due && !passedOn && !work().wakeWaiter()) {
            passedOn = true;
            lock.wakeAfterwards(() -> environment.execute(this::takeOver));
        }
    }

    private void takeOver() {
        Step first;
        lock.lock();
        try {
            passedOn = false;
            first = next(() -> false, null);
        } finally {
            lock.unlock();
        }
        drive(first, () -> false, null);
    }

    @GuardedBy("lock")
    private Work work() {
        return Objects.requireNonNull(work, "a combiner without work");
    }

    /**
     * A lock under which wake-ups can be ordered that happen when it is free again. A thread that is woken under the lock runs
     * straight into it, and the waker keeps all others out for as long as it takes to wake one.
     */
    static class Lock extends ReentrantLock {
        private static final long serialVersionUID = 1L;

        /** Guarded by this lock. */
        private transient List<Runnable> wakeUps = new ArrayList<>();

        /** Guarded by this lock. */
        private transient List<Runnable> news = new ArrayList<>();

        /** Under the lock: runs it as soon as the lock is free, on this thread. */
        void wakeAfterwards(Runnable wakeUp) {
            assert isHeldByCurrentThread() : "a wake-up ordered without the lock could come late or never";
            wakeUps.add(wakeUp);
        }

        /** Under the lock: the same, after all wake-ups. No thread that got a permit waits for a listener. */
        void tellAfterwards(Runnable one) {
            assert isHeldByCurrentThread() : "news without the lock could come in the wrong order";
            news.add(one);
        }

        @Override
        public void unlock() {
            List<Runnable> due = List.of();
            List<Runnable> told = List.of();
            try {
                if (getHoldCount() == 1 && !(wakeUps.isEmpty() && news.isEmpty())) {
                    List<Runnable> nextWakeUps = new ArrayList<>();
                    List<Runnable> nextNews = new ArrayList<>();
                    due = wakeUps;
                    told = news;
                    wakeUps = nextWakeUps;
                    news = nextNews;
                }
            } finally {
                // Also if memory runs out: what was ordered then stays for the next unlock.
                super.unlock();
            }
            due.forEach(Lock::quietly);
            told.forEach(Lock::quietly);
        }

        /** One that fails, for want of a thread perhaps, keeps no other from being woken. */
        private static void quietly(Runnable wakeUp) {
            try {
                wakeUp.run();
            } catch (Throwable e) {
                LOG.error("A wake-up of the semaphore client failed", e);
            }
        }
    }
}
