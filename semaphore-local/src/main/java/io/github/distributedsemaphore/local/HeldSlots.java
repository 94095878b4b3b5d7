package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.spi.Hold;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/** The holds of one session and the locked files behind them, until the session ends. Thread-safe. */
final class HeldSlots {
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<Hold, SlotFile> files = new LinkedHashMap<>();
    private boolean ended;

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

    /** Adds holds; false if the session has ended meanwhile, and then they are not added. */
    boolean add(Map<Hold, SlotFile> taken) {
        lock.lock();
        try {
            if (!ended) {
                files.putAll(taken);
            }
            return !ended;
        } finally {
            lock.unlock();
        }
    }

    /** Returns the file of a hold if it is locked and still the one that its slot has. */
    Optional<SlotFile> inPlace(Hold hold) throws IOException {
        Optional<SlotFile> file = get(hold);
        return file.isPresent() && file.get().inPlace() ? file : Optional.empty();
    }

    private Optional<SlotFile> get(Hold hold) {
        lock.lock();
        try {
            return Optional.ofNullable(files.get(hold));
        } finally {
            lock.unlock();
        }
    }

    /** Takes holds out; returns the files of those that were there. */
    List<SlotFile> remove(Collection<Hold> holds) {
        lock.lock();
        try {
            List<SlotFile> removed = new ArrayList<>();
            for (Hold hold : holds) {
                Optional.ofNullable(files.remove(hold)).ifPresent(removed::add);
            }
            return removed;
        } finally {
            lock.unlock();
        }
    }

    List<Hold> all() {
        lock.lock();
        try {
            return List.copyOf(files.keySet());
        } finally {
            lock.unlock();
        }
    }

    /** Ends the session: returns what was still held, and empty at every further call. */
    Optional<List<SlotFile>> end() {
        lock.lock();
        try {
            if (ended) {
                return Optional.empty();
            }
            ended = true;
            List<SlotFile> rest = List.copyOf(files.values());
            files.clear();
            return Optional.of(rest);
        } finally {
            lock.unlock();
        }
    }
}
