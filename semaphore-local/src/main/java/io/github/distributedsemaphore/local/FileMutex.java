package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

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
final class FileMutex {
    private static final Duration CLOSE_TIME = Duration.ofMillis(130);
    private static final int QUICK_TRIES = 10;
    private static final long PAUSE_NANOS = 20_000;
    private static final long LONG_PAUSE_NANOS = 10_000_000;

    /** How often, and how many times in a row, a waiter finds the holder stopped before it gives up. */
    private static final long LOOK_NANOS = 400_000_000;

    private static final int STOPPED_LOOKS = 3;

    private final Path file;
    private final ReentrantLock turn = new ReentrantLock();
    private @Nullable RandomAccessFile open;
    private @Nullable Object key;
    private @Nullable FileLock lock;
    private @Nullable LockWait pending;
    private boolean deleted;
    private volatile boolean closed;

    FileMutex(Path file) {
        this.file = file;
    }

    /**
     * Takes it.
     *
     * @return false if the directory of the file does not exist; the mutex is not held then
     * @throws MutexBusyException if others have it for as long as the call may wait, or one that is stopped has it
     * @throws Call.WouldWaitException if others have it and the call may not wait
     */
    boolean lock(Call call) throws IOException {
        lockForThreads(call);
        boolean done = false;
        try {
            done = lockForProcesses(call);
            return done;
        } catch (NoSuchFileException e) {
            return false;
        } finally {
            if (!done) {
                turn.unlock();
            }
        }
    }

    private void lockForThreads(Call call) throws IOException {
        if (turn.tryLock()) {
            return;
        }
        call.requireWaiting();
        while (true) {
            try {
                if (turn.tryLock(call.nanosLeft(), TimeUnit.NANOSECONDS)) {
                    return;
                }
                throw new MutexBusyException(file, "another thread of this process");
            } catch (InterruptedException e) {
                call.shield().absorb(e);
            }
        }
    }

    private boolean lockForProcesses(Call call) throws IOException {
        while (true) {
            RandomAccessFile current = openFile();
            FileLock taken = tryLock(current);
            if (taken == null) {
                call.requireWaiting();
                taken = waitForLock(current, call);
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
            // A copy of this library under another class loader has it, or our own wait is under way.
            return null;
        }
    }

    private @Nullable FileLock waitForLock(RandomAccessFile current, Call call) throws IOException {
        // It is held for some ten microseconds, which a moment's patience outlasts more cheaply than a thread.
        for (int i = 0; i < QUICK_TRIES && pending == null; i++) {
            call.shield().pause(PAUSE_NANOS);
            FileLock taken = tryLock(current);
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
            OptionalLong holder = ProcLocks.holder(file);
            stopped = holder.isPresent() && ProcLocks.isStopped(holder.getAsLong()) ? stopped + 1 : 0;
        }
        return null;
    }

    /** Waits for a while in the operating system's queue, where this process has one place. */
    private @Nullable FileLock queue(RandomAccessFile current, long nanos, InterruptShield shield) throws IOException {
        long end = System.nanoTime() + nanos;
        while (end - System.nanoTime() > 0) {
            LockWait wait = pending;
            if (wait == null || wait.isOver()) {
                wait = new LockWait(current);
                pending = wait;
            }
            FileLock taken;
            try {
                taken = wait.await(end - System.nanoTime(), shield);
            } catch (ClosedChannelException e) {
                throw e;
            } catch (OverlappingFileLockException | IOException e) {
                // Another class loader's copy of this library has this process's place; or the kernel fears a deadlock,
                // as
                // our processes wait for each other's locks, each with another thread.
                taken = askAgain(current, end, shield);
            }
            if (taken != null) {
                pending = null;
                return taken;
            }
        }
        return null;
    }

    /** Waits outside the operating system's queue. */
    private @Nullable FileLock askAgain(RandomAccessFile current, long end, InterruptShield shield) throws IOException {
        FileLock taken = null;
        while (taken == null && end - System.nanoTime() > 0) {
            shield.pause(Math.min(LONG_PAUSE_NANOS, end - System.nanoTime()));
            taken = tryLock(current);
        }
        return taken;
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

    /** Returns the open file, for further locks on it beyond the first byte. While no other thread can have the mutex. */
    @Nullable
    RandomAccessFile file() {
        return open;
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
        }
    }

    /** Work on files. */
    @FunctionalInterface
    interface FileWork {
        void run() throws IOException;
    }

    /**
     * Closes the file; the mutex cannot be used any more. Waits a moment for the mutex, as closing ends every lock that this
     * process has on the file: also one that is held under another class loader.
     */
    void close() {
        if (open == null) {
            closed = true;
            return;
        }
        try (Call call = Call.within(CLOSE_TIME)) {
            if (lock(call)) {
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
        // Its thread ends with the file.
        pending = null;
        try {
            if (current != null) {
                current.close();
            }
        } catch (IOException e) {
            // The descriptor is gone all the same.
        }
    }
}
