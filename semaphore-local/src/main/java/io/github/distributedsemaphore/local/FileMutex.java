package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.InterruptShield;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * One at a time among all threads of all processes: an ordinary lock for the threads of this one, in front of a lock on
 * the first byte of a file for the processes.
 *
 * <p>The file may be deleted by who holds the lock. Whoever gets a lock therefore looks whether the path still leads to
 * the file that it locked, and else starts again.
 *
 * <p>It is held for some ten microseconds at a time. Who finds it busy tries again a few times, and then waits in the
 * operating system, which serves waiters in turn and lets them sleep: hundreds of processes that asked again and again would
 * take from the holder the time it needs to go on.
 */
final class FileMutex {
    private static final long CLOSE_NANOS = 100_000_000;
    private static final int QUICK_TRIES = 10;
    private static final long PAUSE_NANOS = 20_000;
    private static final long LONG_PAUSE_NANOS = 10_000_000;
    private static final int STOPPED_LOOKS = 5;
    private static final long LOOK_NANOS = Math.min(2_000_000_000L, LocalBackend.OPERATION.toNanos() / 50);

    private final Path file;
    private final ReentrantLock turn = new ReentrantLock();
    private @Nullable RandomAccessFile open;
    private @Nullable Object key;
    private @Nullable FileLock lock;
    private boolean deleted;
    private volatile boolean closed;

    FileMutex(Path file) {
        this.file = file;
    }

    /**
     * Takes it.
     *
     * @param nanos how long to wait for it at most
     * @return false if the directory of the file does not exist; the mutex is not held then
     * @throws MutexBusyException if others have it for so long, or one that is stopped has it
     */
    boolean lock(long nanos, InterruptShield shield) throws IOException {
        long deadline = System.nanoTime() + nanos;
        lockForThreads(nanos, shield);
        boolean done = false;
        try {
            done = lockForProcesses(deadline, shield);
            return done;
        } catch (NoSuchFileException e) {
            return false;
        } finally {
            if (!done) {
                turn.unlock();
            }
        }
    }

    private void lockForThreads(long nanos, InterruptShield shield) throws MutexBusyException {
        long deadline = System.nanoTime() + nanos;
        while (true) {
            try {
                if (turn.tryLock(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                    return;
                }
                throw new MutexBusyException(file, "another thread of this process");
            } catch (InterruptedException e) {
                shield.absorb(e);
            }
        }
    }

    private boolean lockForProcesses(long deadline, InterruptShield shield) throws IOException {
        while (true) {
            RandomAccessFile current = openFile();
            FileLock taken = tryLock(current);
            if (taken == null) {
                taken = waitForLock(current, deadline, shield);
            }
            if (taken == null) {
                throw new MutexBusyException(file, describeHolder());
            }
            if (key != null && PrivateFiles.leadsTo(file, key)) {
                lock = taken;
                return true;
            }
            closeFile();
        }
    }

    private static @Nullable FileLock tryLock(RandomAccessFile current) throws IOException {
        try {
            return current.getChannel().tryLock(0, 1, false);
        } catch (OverlappingFileLockException e) {
            // A copy of this library under another class loader has it, or a wait that was given up.
            return null;
        }
    }

    private @Nullable FileLock waitForLock(RandomAccessFile current, long deadline, InterruptShield shield)
            throws IOException {
        // It is held for some ten microseconds, which a moment's patience outlasts more cheaply than a thread.
        for (int i = 0; i < QUICK_TRIES; i++) {
            shield.pause(PAUSE_NANOS);
            FileLock taken = tryLock(current);
            if (taken != null) {
                return taken;
            }
        }
        while (deadline - System.nanoTime() > 0) {
            try {
                return waitWhileItMoves(new LockWait(current), deadline, shield);
            } catch (OverlappingFileLockException e) {
                shield.pause(LONG_PAUSE_NANOS);
            }
        }
        return null;
    }

    /** A queue of hundreds may take its time, but a holder that is stopped will not go on by itself. */
    private @Nullable FileLock waitWhileItMoves(LockWait wait, long deadline, InterruptShield shield)
            throws IOException {
        int stopped = 0;
        while (stopped < STOPPED_LOOKS && deadline - System.nanoTime() > 0) {
            FileLock taken = wait.await(Math.min(deadline, System.nanoTime() + LOOK_NANOS), shield);
            if (taken != null) {
                return taken;
            }
            OptionalLong holder = ProcLocks.holder(file);
            stopped = holder.isPresent() && ProcLocks.isStopped(holder.getAsLong()) ? stopped + 1 : 0;
        }
        return wait.giveUp();
    }

    private String describeHolder() {
        OptionalLong holder = ProcLocks.holder(file);
        if (holder.isEmpty()) {
            return "another process";
        }
        long pid = holder.getAsLong();
        return "process " + pid + (ProcLocks.isStopped(pid) ? ", which is stopped" : "");
    }

    private RandomAccessFile openFile() throws IOException {
        if (closed) {
            throw new ClosedChannelException();
        }
        RandomAccessFile current = open;
        while (current == null) {
            PrivateFiles.createFile(file);
            Object before = PrivateFiles.key(file);
            current = PrivateFiles.open(file);
            if (PrivateFiles.leadsTo(file, before)) {
                open = current;
                key = before;
            } else {
                current.close();
                current = null;
            }
        }
        return current;
    }

    /** Notes that its holder has deleted the file: there is nothing more to keep open. */
    void deleted() {
        deleted = true;
    }

    /** Gives it back. */
    void unlock() {
        FileLock held = lock;
        lock = null;
        try {
            if (deleted) {
                deleted = false;
                closeFile();
            } else if (held != null && held.isValid()) {
                held.release();
            }
        } catch (IOException e) {
            // A closed file has no locks.
            closeFile();
        } finally {
            turn.unlock();
        }
    }

    /** Returns the open file, for further locks on it beyond the first byte. Only while the mutex is held. */
    @Nullable
    RandomAccessFile file() {
        return open;
    }

    /**
     * Closes the file; the mutex cannot be used any more. Waits a moment for the mutex, as closing ends every lock that this
     * process has on the file: also one that is held under another class loader.
     */
    void close(InterruptShield shield) {
        if (open == null) {
            closed = true;
            return;
        }
        try {
            if (lock(CLOSE_NANOS, shield)) {
                closeFile();
                unlock();
            }
        } catch (IOException e) {
            LoggerFactory.getLogger(FileMutex.class).debug("{} is closed without being locked", file, e);
        } finally {
            closed = true;
            closeFile();
        }
    }

    private void closeFile() {
        RandomAccessFile current = open;
        open = null;
        key = null;
        try {
            if (current != null) {
                current.close();
            }
        } catch (IOException e) {
            // The descriptor is gone all the same.
        }
    }
}
