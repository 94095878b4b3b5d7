package io.github.distributedsemaphore.tck.example;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.support.CasStore;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** A connection to the store. The store is a map in this process: yours is a server, and each method is a request to it. */
final class MapStore implements CasStore {
    private static final Map<String, Stored> SERVER = new TreeMap<>();
    private static final Map<String, Set<Consumer<String>>> WATCHED = new ConcurrentHashMap<>();
    private static long lastVersion;

    private record Stored(String value, long version) {}

    @Override
    public Entry read(String name, Deadline end) {
        synchronized (SERVER) {
            return entry(name);
        }
    }

    /** With the server's clock: no client's own is asked how long a lease has left. */
    private static Entry entry(String name) {
        Stored stored = SERVER.getOrDefault(name, new Stored("", 0));
        return new Entry(stored.value(), stored.version(), System.currentTimeMillis());
    }

    @Override
    public Written write(Change change, Deadline end) {
        boolean done;
        Entry now;
        synchronized (SERVER) {
            done = entry(change.name()).version() == change.expected();
            if (done && change.value().isEmpty()) {
                SERVER.remove(change.name());
            } else if (done) {
                SERVER.put(change.name(), new Stored(change.value(), ++lastVersion));
            }
            now = entry(change.name());
        }
        if (done && !change.hint().isEmpty()) {
            WATCHED.getOrDefault(change.name(), Set.of()).forEach(watch -> watch.accept(change.hint()));
        }
        return new Written(done, now);
    }

    @Override
    public Map<String, Entry> list(Deadline end) {
        Map<String, Entry> found = new TreeMap<>();
        synchronized (SERVER) {
            SERVER.keySet().forEach(name -> found.put(name, entry(name)));
        }
        return found;
    }

    @Override
    public BackendSession.Watch watch(String name, Consumer<String> hint) {
        Set<Consumer<String>> hints = WATCHED.computeIfAbsent(name, key -> ConcurrentHashMap.newKeySet());
        hints.add(hint);
        return () -> hints.remove(hint);
    }

    @Override
    public void close() {}
}
