package io.github.distributedsemaphore.memory;

import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Semaphores in the memory of this JVM, for tests: {@code memory:}, or {@code memory:name} for one of several servers. All clients
 * of a name share its semaphores, which stay until the JVM ends, as they do at a server.
 *
 * <p>The setting {@code detection} (1s to 1d, by default 10s) is the server's: its first client says it, and the others say
 * the same or nothing. The setting {@code timeout} (100ms to 5m) is taken and changes nothing. Thread-safe.
 */
public final class MemoryProvider implements BackendProvider {
    private static final ConcurrentMap<String, MemoryPlace> PLACES = new ConcurrentHashMap<>();

    /** Creates it, for {@link java.util.ServiceLoader}. */
    public MemoryProvider() {}

    /**
     * Has the clients of a name come to a server that a test made.
     *
     * @param name the part of the URI after {@code memory:}
     * @param place the server
     */
    public static void add(String name, MemoryPlace place) {
        if (PLACES.putIfAbsent(name, place) != null) {
            throw new IllegalArgumentException("There is a server 'memory:" + name + "' already");
        }
    }

    /**
     * Forgets a server. Its clients keep it; the next one of that name comes to a new one.
     *
     * @param name as for {@link #add}
     */
    public static void remove(String name) {
        PLACES.remove(name);
    }

    @Override
    public Set<String> schemes() {
        return Set.of("memory");
    }

    @Override
    public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
        boolean given = !uri.text("detection", "").isEmpty();
        Duration detection =
                uri.duration("detection", MemoryPlace.DEFAULT_DETECTION, Duration.ofSeconds(1), Duration.ofDays(1));
        // Every backend has it. Here a request takes no time, and a test has the settings of its application.
        Duration unused = uri.duration("timeout", Duration.ofSeconds(5), Duration.ofMillis(100), Duration.ofMinutes(5));
        String name = uri.hosts() + uri.path();
        MemoryPlace place = PLACES.computeIfAbsent(name, key -> new MemoryPlace(detection));
        if (given && !place.detection().equals(detection)) {
            throw new IllegalArgumentException("The setting 'detection' = '" + uri.text("detection", "")
                    + "' is not that of the server 'memory:" + name + "', which this JVM started with "
                    + place.detection().toMillis() + "ms: use that or another name");
        }
        return place.connect(self);
    }
}
