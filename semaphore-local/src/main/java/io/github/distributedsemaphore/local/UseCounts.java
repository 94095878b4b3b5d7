package io.github.distributedsemaphore.local;

import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Things that exist once for all their users, from the first user to the last. Thread-safe.
 *
 * @param <V> what is shared
 */
final class UseCounts<V> {
    private final ConcurrentHashMap<Object, Entry<V>> entries = new ConcurrentHashMap<>();

    private record Entry<V>(V value, int users) {
        Entry<V> withUsers(int more) {
            return new Entry<>(value, users + more);
        }
    }

    V use(Object key, Supplier<V> maker) {
        return entries.compute(key, (k, known) -> known == null ? new Entry<>(maker.get(), 1) : known.withUsers(1))
                .value;
    }

    /** Begins one more use of a thing; false if it has ended. */
    boolean useAgain(Object key, V value) {
        Entry<V> entry = entries.computeIfPresent(key, (k, known) -> known.value == value ? known.withUsers(1) : known);
        return entry != null && entry.value == value;
    }

    /** Ends one use; the last one ends the thing, before another user can create it again. */
    void release(Object key, Consumer<V> end) {
        entries.computeIfPresent(key, (k, known) -> {
            if (known.users > 1) {
                return known.withUsers(-1);
            }
            end.accept(known.value);
            return null;
        });
    }

    int size() {
        return entries.size();
    }
}
