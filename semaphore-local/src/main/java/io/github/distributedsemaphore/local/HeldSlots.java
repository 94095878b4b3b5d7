package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.spi.Hold;
import java.io.IOException;
import java.nio.channels.FileLock;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The holds of one session, and the locked byte of the table that makes them count, until the session ends. Thread-safe.
 *
 * <p>A table may be removed and another put in its place. Then the session locks its byte anew with its next grant, and its holds
 * in the old table are lost.
 */
final class HeldSlots {
    private final long session = SlotTable.newSession();
    private final ReentrantLock lock = new ReentrantLock();
    private final Set<Hold> holds = new LinkedHashSet<>();
    private @Nullable LockFile table;
    private @Nullable FileLock life;
    private boolean ended;

    /** Returns the number of the session in tables. */
    long session() {
        return session;
    }

    void requireOpen(String name) {
        lock.lock();
        try {
            if (ended) {
                throw new BackendUnavailableException("Semaphore '" + name + "': the session has ended", null);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Makes what is stored for this session in a table count. Without effect on a session that has ended. */
    void enter(LockFile current) throws IOException {
        lock.lock();
        try {
            if (ended || current.has(life)) {
                return;
            }
            holds.clear();
            release();
            table = current;
            life = current.tryLock(session, 1);
            if (life == null) {
                throw new IOException("the session's byte in the table is locked by somebody else");
            }
        } finally {
            lock.unlock();
        }
    }

    private void release() throws IOException {
        if (life != null && life.isValid()) {
            life.release();
        }
    }

    /** Adds holds; false if the session has ended meanwhile, and then nothing that is stored for it counts. */
    boolean add(Collection<Hold> taken) {
        lock.lock();
        try {
            if (!ended) {
                holds.addAll(taken);
            }
            return !ended;
        } finally {
            lock.unlock();
        }
    }

    /** Returns those of some holds that this session has, as the table shows. */
    Set<Hold> among(Collection<Hold> asked, SlotTable shown) {
        lock.lock();
        try {
            return asked.stream()
                    .filter(hold -> shown.file() == table && holds.contains(hold) && shown.has(hold, session))
                    .collect(Collectors.toCollection(LinkedHashSet::new));
        } finally {
            lock.unlock();
        }
    }

    void remove(Collection<Hold> gone) {
        lock.lock();
        try {
            gone.forEach(holds::remove);
        } finally {
            lock.unlock();
        }
    }

    List<Hold> all() {
        lock.lock();
        try {
            return List.copyOf(holds);
        } finally {
            lock.unlock();
        }
    }

    /** Ends the session: nothing that is stored for it counts any more. False at every further call. */
    boolean end() {
        lock.lock();
        try {
            if (ended) {
                return false;
            }
            ended = true;
            holds.clear();
            release();
            return true;
        } catch (IOException e) {
            // A closed file has no locks.
            return true;
        } finally {
            lock.unlock();
        }
    }
}
