package io.github.distributedsemaphore.internal;

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
 */
final class Combiner {
    private static final Logger LOG = LoggerFactory.getLogger(Combiner.class);

    /** What {@link Step#begin} returns if it has done everything. */
    static final CompletionStage<Runnable> ENDED = CompletableFuture.completedFuture(() -> {});

    /** One thing to do at the backend. Runs without the lock, and no other step runs until it has ended. */
    @FunctionalInterface
    interface Step {
        /** Does it, on a thread that may wait. */
        void perform();

        /**
         * Begins it on a thread that must not wait.
         *
         * @return completes with what is left to be done then, which does not wait; {@link #ENDED} if nothing is left; null if it
         *     cannot be begun without waiting
         */
        default @Nullable CompletionStage<Runnable> begin() {
            return null;
        }
    }

    private final ReentrantLock lock;
    private final Exchanges exchanges;
    private final Environment environment;

    /** A step has been taken and has not ended. */
    private boolean busy;

    /** The end of a step that was begun; it waits for a thread. */
    private @Nullable Runnable landed;

    /** The caller that took the step under way, if it must not wait for the backend. */
    private @Nullable AcquireCall driver;

    /** A worker is on its way. */
    private boolean passedOn;

    private @Nullable Thread closer;

    Combiner(ReentrantLock lock, Exchanges exchanges, Environment environment) {
        this.lock = lock;
        this.exchanges = exchanges;
        this.environment = environment;
    }

    /**
     * Works while there is work, nobody else is at it, and the caller is not done. Never waits for another thread.
     *
     * @param caller the call whose thread this is, if that must not wait for the backend; null if it may
     */
    void drive(BooleanSupplier done, @Nullable AcquireCall caller) {
        drive(take(false, caller), done, caller);
    }

    private void drive(@Nullable Step first, BooleanSupplier done, @Nullable AcquireCall caller) {
        Step step = first;
        while (step != null) {
            environment.checkpoint();
            if (!run(step, caller)) {
                return;
            }
            environment.checkpoint();
            if (done.getAsBoolean()) {
                passOn(true);
                return;
            }
            step = take(true, caller);
        }
    }

    /** Works, then waits for other threads that do, until done. An interrupt is kept for the caller. */
    void driveUntil(BooleanSupplier done) {
        drive(done, null);
        awaitUninterruptibly(done);
    }

    /** Waits until no step is under way, which is bounded by the backend. */
    void awaitRest() {
        awaitUninterruptibly(this::isAtRest);
    }

    private void awaitUninterruptibly(BooleanSupplier done) {
        boolean interrupted = false;
        while (!done.getAsBoolean()) {
            environment.park(this, Long.MAX_VALUE);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Under the lock: whether a step is under way. */
    boolean isBusy() {
        return busy;
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

    private @Nullable Step take(boolean ended, @Nullable AcquireCall caller) {
        lock.lock();
        try {
            if (ended) {
                end();
            }
            Runnable rest = landed;
            if (rest != null) {
                landed = null;
                return new Step() {
                    @Override
                    public void perform() {
                        rest.run();
                    }

                    @Override
                    public CompletionStage<Runnable> begin() {
                        rest.run();
                        return ENDED;
                    }
                };
            }
            Step step = busy ? null : exchanges.next();
            if (step != null) {
                busy = true;
                driver = caller;
            }
            return step;
        } finally {
            lock.unlock();
        }
    }

    /** Under the lock. */
    private void end() {
        busy = false;
        if (closer != null) {
            environment.unpark(closer);
        }
    }

    /** Returns whether the step has ended; if not, somebody else ends it. */
    private boolean run(Step step, @Nullable AcquireCall caller) {
        if (caller == null) {
            logged(step::perform);
            return true;
        }
        CompletionStage<Runnable> begun = begin(step);
        if (begun == null) {
            environment.execute(() -> drive(step, () -> false, null));
            return false;
        }
        if (begun == ENDED) {
            return true;
        }
        CompletionStage<Void> unused = begun.thenAccept(this::land);
        return false;
    }

    private static @Nullable CompletionStage<Runnable> begin(Step step) {
        try {
            return step.begin();
        } catch (RuntimeException | Error e) {
            LOG.error("A step of the semaphore client failed", e);
            return ENDED;
        }
    }

    /** A step that throws is a bug of this library; it may have happened on any thread. */
    private static void logged(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            LOG.error("A step of the semaphore client failed", e);
        }
    }

    /** On a thread of the backend: the caller that began the step ends it, or if it has left, somebody else. */
    private void land(Runnable rest) {
        boolean called;
        lock.lock();
        try {
            landed = rest;
            called = driver != null && !driver.isDone() && driver.call();
            driver = null;
        } finally {
            lock.unlock();
        }
        if (!called) {
            passOn(false);
        }
    }

    /**
     * Has another thread do what there is to do, if nobody is at it: the caller has what it wants, or wants no more, or must not
     * block. A thread that waits is asked first, for the sake of which it mostly is.
     */
    void passOn() {
        passOn(false);
    }

    private void passOn(boolean ended) {
        boolean more;
        lock.lock();
        try {
            if (ended) {
                end();
            }
            more = (landed != null || (!busy && exchanges.lookForWork())) && !passedOn && !exchanges.callHead();
            passedOn |= more;
        } finally {
            lock.unlock();
        }
        if (more) {
            environment.execute(this::takeOver);
        }
    }

    private void takeOver() {
        lock.lock();
        try {
            passedOn = false;
        } finally {
            lock.unlock();
        }
        drive(() -> false, null);
    }
}
