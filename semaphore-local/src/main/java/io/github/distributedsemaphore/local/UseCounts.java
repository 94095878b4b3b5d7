package io.github.distributedsemaphore.local;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Things that exist once for all their users, from the first user to the last. Thread-safe.
 *
 * @param <V> what is shared
 */
final class UseCounts<V> {
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<Object, Entry<V>> entries = new HashMap<>();

    private static final class Entry<V> {
        private final V value;
        private int users;

        Entry(V value) {
            this.value = value;
        }
    }

    V use(Object key, Supplier<V> maker) {
        lock.lock();
        try {
            Entry<V> entry = entries.computeIfAbsent(key, k -> new Entry<>(maker.get()));
            entry.users++;
            return entry.value;
        } finally {
            lock.unlock();
        }
    }

    /** Begins one more use of a thing; false if it has ended. */
    boolean useAgain(Object key, V value) {
        lock.lock();
        try {
            Entry<V> entry = entries.get(key);
            if (entry == null || entry.value != value) {
                return false;
            }
            entry.users++;
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Ends one use; the last one ends the thing, before another user can create it again. */
    void release(Object key, Consumer<V> end) {
        lock.lock();
        try {
            Entry<V> entry = entries.get(key);
            if (entry != null && --entry.users == 0) {
                entries.remove(key);
                end.accept(entry.value);
            }
        } finally {
            lock.unlock();
        }
    }

    int size() {
        lock.lock();
        try {
            return entries.size();
        } finally {
            lock.unlock();
        }
    }
}
