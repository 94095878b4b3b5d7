package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.BackendUnavailableException;
import java.io.IOException;
import java.nio.channels.FileLock;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The byte of the table by whose lock a session lives: what the table has for this session counts from {@link #enter} to {@link
 * #end}. Thread-safe.
 *
 * <p>A table may be removed and another put in its place. Then the session locks its byte anew with its next grant, and its holds
 * in the old table are lost.
 */
final class SessionByte {
    private final ReentrantLock state = new ReentrantLock();

    /** Changed under {@link #state} only. */
    private volatile long session = SlotTable.newSession();

    /** Read and changed under {@link #state} only: {@link #enter} gives the lock back for a moment. */
    private @Nullable FileLock lock;

    /** Changed under {@link #state} only. */
    private volatile boolean ended;

    /** Returns the number of the session in the table that it entered last, which is the place of the byte. */
    long session() {
        return session;
    }

    void requireOpen(String name) {
        if (ended) {
            throw new BackendUnavailableException("Semaphore '" + name + "': the session has ended", null);
        }
    }

    /**
     * Makes what is stored for this session in a table count; without effect after its end. Under the semaphore's mutex.
     *
     * <p>The byte is locked anew each time: the operating system drops the lock when anything in this process closes the table, see
     * {@link LockFile}, and Java goes on to call the lock valid. Others look at the byte under the mutex only, so nobody sees that it
     * is unlocked for a moment.
     *
     * <p>In a table in which the session does not live it gets another number: what the table has under the old one, as when it was
     * away and came back, was lost and must not count again.
     */
    void enter(LockFile table) throws IOException {
        state.lock();
        try {
            if (!ended) {
                if (!table.has(lock)) {
                    session = SlotTable.newSession();
                }
                release();
                lock = table.tryLock(session, 1);
                if (lock == null) {
                    throw new IOException("the session's byte in the table is locked by somebody else");
                }
            }
        } finally {
            state.unlock();
        }
    }

    /** Tells whether what is stored for this session in a table counts. */
    boolean livesIn(LockFile table) {
        state.lock();
        try {
            return table.has(lock);
        } finally {
            state.unlock();
        }
    }

    /** Gives up what is stored for this session in a table: for a table that was removed, and may come back. */
    void leave(LockFile table) {
        state.lock();
        try {
            if (table.has(lock)) {
                release();
            }
        } finally {
            state.unlock();
        }
    }

    /** Ends the session. Does not wait; false at every further call. */
    boolean end() {
        state.lock();
        try {
            boolean first = !ended;
            ended = true;
            release();
            return first;
        } finally {
            state.unlock();
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
        }
    }
}
