package io.github.distributedsemaphore.internal;

import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Has one thread at a time do the work of all: whoever brings work and finds nobody at it does what is pending for everybody
 * (flat combining, after Hendler, Incze, Shavit and Tzafrir, "Flat Combining and the Synchronization-Parallelism Tradeoff",
 * 2010). So a thread that is alone pays for no hop to another thread, and a crowd pays for one round trip.
 */
final class Combiner {
    private final ReentrantLock lock;
    private final Exchanges exchanges;
    private final Environment environment;

    private boolean busy;

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
     */
    void drive(BooleanSupplier done) {
        while (true) {
            Runnable step = begin();
            if (step == null) {
                return;
            }
            try {
                environment.checkpoint();
                step.run();
                environment.checkpoint();
            } finally {
                end();
            }
            if (done.getAsBoolean()) {
                passOn();
                return;
            }
        }
    }

    /** Works, then waits for other threads that do, until done. An interrupt is kept for the caller. */
    void driveUntil(BooleanSupplier done) {
        drive(done);
        awaitUninterruptibly(done);
    }

    /** Waits until no exchange is under way, which is bounded by the backend. */
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

    private boolean isAtRest() {
        lock.lock();
        try {
            closer = Thread.currentThread();
            return !busy;
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Runnable begin() {
        lock.lock();
        try {
            Runnable step = busy ? null : exchanges.next();
            busy |= step != null;
            return step;
        } finally {
            lock.unlock();
        }
    }

    private void end() {
        lock.lock();
        try {
            busy = false;
            if (closer != null) {
                environment.unpark(closer);
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
        boolean more;
        lock.lock();
        try {
            more = !busy && !passedOn && exchanges.hasWork() && !exchanges.callHead();
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
        drive(() -> false);
    }
}
