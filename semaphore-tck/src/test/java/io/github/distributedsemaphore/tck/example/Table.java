package io.github.distributedsemaphore.tck.example;

import io.github.distributedsemaphore.spi.Hold;
import java.time.Instant;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/** The backend: a table of semaphores. Yours is somewhere else, and a transaction takes the place of the lock. */
final class Table {
    static final Table SHARED = new Table();

    /** A slot that is held, and by which session. */
    record Taken(TableSession session, Hold hold, Instant since) {}

    /** A name. Without slots there is no such semaphore, but there may be holders of slots that were removed. */
    static final class Row {
        int limit;
        final NavigableMap<Integer, Taken> taken = new TreeMap<>();
    }

    /** Who waits; yours is told by its server. */
    final Set<Runnable> hints = new CopyOnWriteArraySet<>();

    final NavigableMap<String, Row> rows = new TreeMap<>();
    /** One counter for all slots of all names: the epochs of each slot rise, which is all that a fence needs. */
    long lastEpoch;

    private final ReentrantLock lock = new ReentrantLock();

    <T> T transaction(String name, Function<Row, T> body) {
        lock.lock();
        try {
            return body.apply(rows.computeIfAbsent(name, key -> new Row()));
        } finally {
            // A row that says nothing is not kept.
            rows.computeIfPresent(name, (key, row) -> row.limit == 0 && row.taken.isEmpty() ? null : row);
            lock.unlock();
        }
    }

    /** Something may have become free. Not under the lock, since it is others' code. */
    void tellWaiters() {
        hints.forEach(Runnable::run);
    }
}
