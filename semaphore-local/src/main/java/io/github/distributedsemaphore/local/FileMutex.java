package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileLock;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One at a time among all threads of all processes: an ordinary lock for the threads of this one, in front of a lock on
 * the first byte of a file for the processes.
 *
 * <p>The holder of the lock may delete the file. A process that gets a lock therefore looks whether the path still leads to
 * the file that it locked, and else starts again.
 *
 * <p>It is held for some ten microseconds at a time. A caller that finds it busy tries again a few times, and then waits in
 * the operating system, which serves waiters in turn and lets them sleep: hundreds of processes that asked again and again
 * would take from the holder the time it needs to go on. A wait that a caller gives up goes on, and the next caller takes it
 * over: the JVM lets one thread at a time wait for a lock.
 */
class FileMutex {
    private static final int QUICK_TRIES = 10;
    private static final long PAUSE_NANOS = 20_000;
    private static final long LONG_PAUSE_NANOS = 10_000_000;

    /** How often, and how many times in a row, a waiter finds the holder stopped before it gives up. */
    private static final long LOOK_NANOS = 400_000_000;

    private static final int STOPPED_LOOKS = 3;

    private final Path path;
    private final ReentrantLock turn = new ReentrantLock();
    private volatile @Nullable LockFile file;
    private @Nullable FileLock lock;
    private @Nullable Place pending;
    private volatile boolean closed;

    FileMutex(Path path) {
        this.path = path;
    }

    /**
     * Takes it.
     *
     * @return false if the directory of the file does not exist; the mutex is not held then
     * @throws Call.BusyException if others have it for as long as the call may wait, or one that is stopped has it
     * @throws Call.WouldWaitException if others have it and the call may not wait
     */
    boolean lock(Call call) throws IOException {
        lockForThreads(call);
        boolean done = false;
        try {
            lockForProcesses(call);
            done = true;
            return true;
        } catch (NoSuchFileException e) {
            return false;
        } finally {
            if (!done) {
                // Also the lock on the file, if that was taken: it would keep all processes out.
                unlock();
            }
        }
    }

    private void lockForThreads(Call call) throws IOException {
        if (!turn.tryLock()) {
            call.requireWaiting();
            if (!InterruptShield.await(turn::tryLock, call.end())) {
                throw new Call.BusyException(path, "another thread of this process");
            }
        }
    }

    private void lockForProcesses(Call call) throws IOException {
        while (true) {
            LockFile current = openFile();
            FileLock taken = current.tryLock(0, 1);
            if (taken == null) {
                call.requireWaiting();
                taken = waitForLock(current, call);
            }
            if (taken == null) {
                throw new Call.BusyException(path, describeHolder());
            }
            lock = taken;
            if (isInPlace(current)) {
                return;
            }
            closeFile();
        }
    }

    /** For tests, which have it fail. */
    boolean isInPlace(LockFile current) throws IOException {
        return current.isInPlace();
    }

    private @Nullable FileLock waitForLock(LockFile current, Call call) throws IOException {
        // It is held for some ten microseconds, which a moment's patience outlasts more cheaply than a thread.
        for (int i = 0; i < QUICK_TRIES && !isInQueue(); i++) {
            call.shield().pause(PAUSE_NANOS);
            FileLock taken = current.tryLock(0, 1);
            if (taken != null) {
                return taken;
            }
        }
        // A queue of hundreds may take its time, but a holder that is stopped does not go on by itself.
        int stopped = 0;
        while (stopped < STOPPED_LOOKS && call.nanosLeft() > 0) {
            FileLock taken = queue(current, Math.min(call.nanosLeft(), LOOK_NANOS), call.shield());
            if (taken != null) {
                return taken;
            }
            OptionalLong holder = ProcLocks.holder(path);
            stopped = holder.isPresent() && ProcLocks.isStopped(holder.getAsLong()) ? stopped + 1 : 0;
        }
        return null;
    }

    private boolean isInQueue() {
        return pending != null && !pending.over;
    }

    /** Waits for a while in the operating system's queue, where this process has one place. */
    private @Nullable FileLock queue(LockFile current, long nanos, InterruptShield shield) throws IOException {
        long end = System.nanoTime() + nanos;
        while (end - System.nanoTime() > 0) {
            Place place = pending;
            if (place == null || place.over) {
                place = new Place(current);
                pending = place;
            }
            FileLock taken = place.await(end, shield);
            if (taken == null && place.failed) {
                // Another class loader's copy of this library has this process's place; or the kernel fears a deadlock,
                // as
                // our processes wait for each other's locks, each with another thread.
                taken = askAgain(current, end, shield);
            }
            if (taken != null) {
                return taken;
            }
        }
        return null;
    }

    /** Waits outside the operating system's queue. */
    private static @Nullable FileLock askAgain(LockFile current, long end, InterruptShield shield) throws IOException {
        FileLock taken = null;
        while (taken == null && end - System.nanoTime() > 0) {
            shield.pause(Math.min(LONG_PAUSE_NANOS, end - System.nanoTime()));
            taken = current.tryLock(0, 1);
        }
        return taken;
    }

    private String describeHolder() {
        OptionalLong holder = ProcLocks.holder(path);
        if (holder.isEmpty()) {
            return "another process";
        }
        long pid = holder.getAsLong();
        return "process " + pid + (ProcLocks.isStopped(pid) ? ", which is stopped" : "");
    }

    private LockFile openFile() throws IOException {
        if (closed) {
            throw new ClosedChannelException();
        }
        LockFile current = file;
        if (current == null) {
            current = LockFile.open(path);
            file = current;
        }
        return current;
    }

    /** Gives it back. */
    void unlock() {
        try {
            release();
        } finally {
            turn.unlock();
            closeWhenUnused();
        }
    }

    private void release() {
        FileLock held = lock;
        lock = null;
        try {
            if (held != null && held.isValid()) {
                held.release();
            }
        } catch (IOException e) {
            // A closed file has no locks.
            closeFile();
        }
    }

    /** Returns the open file, for its content and for locks beyond the first byte; null before the mutex was held. */
    @Nullable
    LockFile file() {
        return file;
    }

    /** Returns the open file to the holder of the mutex. */
    LockFile heldFile() {
        return Objects.requireNonNull(file, "the mutex is held");
    }

    /**
     * Does something that needs the open file and keeps out the threads of this process, but not other processes, unless one of
     * those threads is busy with the mutex. Does not wait.
     *
     * @return false if it was not done
     */
    boolean tryAmongThreads(FileWork work) throws IOException {
        if (!turn.tryLock()) {
            return false;
        }
        try {
            work.run();
            return true;
        } finally {
            turn.unlock();
            closeWhenUnused();
        }
    }

    /** Work on files. */
    @FunctionalInterface
    interface FileWork {
        void run() throws IOException;
    }

    /** Closes the file, as soon as no thread has the mutex any more; it cannot be taken again. Does not wait. */
    void close() {
        closed = true;
        closeWhenUnused();
    }

    private void closeWhenUnused() {
        while (closed && file != null && turn.tryLock()) {
            try {
                closeFile();
            } finally {
                turn.unlock();
            }
        }
    }

    /** Closes the file, and gives up its lock with it: for the holder of the mutex, which may have deleted the file. */
    void closeFile() {
        LockFile current = file;
        file = null;
        // Its thread ends with the file, or when the lock comes, which it then gives back.
        pending = null;
        release();
        if (current != null) {
            current.close();
        }
    }

    /**
     * A process's place in the operating system's queue for the first byte of a file. The operating system's wait ends by no
     * time-out, and an interrupt would close the file, so a thread of its own waits, which is deaf to interrupts. It waits on while
     * nobody awaits it, since the JVM lets one thread at a time wait for a lock; a lock that comes then is given back at once.
     */
    private static final class Place {
        private final LinkedTransferQueue<Optional<FileLock>> handOver = new LinkedTransferQueue<>();
        /** The lock came, and was handed over or given back, or there was an error. */
        private volatile boolean over;

        private volatile boolean failed;

        Place(LockFile file) {
            Thread thread = new Thread(() -> waitForIt(file), "semaphore-local-mutex") {
                // The application may interrupt all of its thread group. All holds of this process would be lost.
                @Override
                public void interrupt() {}
            };
            thread.setDaemon(true);
            thread.start();
        }

        private void waitForIt(LockFile file) {
            try {
                FileLock lock = file.lock(0);
                over = true;
                if (!handOver.tryTransfer(Optional.of(lock))) {
                    lock.release();
                    handOver.add(Optional.empty());
                }
            } catch (Throwable e) {
                // Of any kind: it would be waited for without end.
                failed = true;
                over = true;
                handOver.add(Optional.empty());
            }
        }

        /** Returns the lock; null if it did not come in time, and the wait goes on, or if the wait is over. */
        @Nullable
        FileLock await(long end, InterruptShield shield) {
            while (true) {
                try {
                    Optional<FileLock> come = handOver.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                    return come == null ? null : come.orElse(null);
                } catch (InterruptedException e) {
                    shield.absorb(e);
                }
            }
        }
    }
}
