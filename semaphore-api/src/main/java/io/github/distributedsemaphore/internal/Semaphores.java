package io.github.distributedsemaphore.internal;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The semaphores of one client: the same object for the same name. A session that is not used for a while is closed, and from then
 * on only the application keeps its semaphore. So an application that uses a hundred thousand names in a day, each for a moment,
 * leaves nothing behind. Thread-safe.
 */
final class Semaphores {
    /** How often it is looked for unused sessions. One that is unused for two looks in a row is closed. */
    private static final long LOOK_NANOS = 30_000_000_000L;

    private final Environment environment;
    private final Function<String, EngineSemaphore> maker;
    private final Map<String, Entry> entries = new ConcurrentHashMap<>();
    private final ReferenceQueue<EngineSemaphore> forgotten = new ReferenceQueue<>();
    private final AtomicBoolean looking = new AtomicBoolean();

    /** What is known of one name. */
    private final class Entry extends WeakReference<EngineSemaphore> {
        private final String name;

        /** Keeps the semaphore while its session is in use. */
        private volatile @Nullable EngineSemaphore used;

        Entry(String name, EngineSemaphore semaphore) {
            super(semaphore, forgotten);
            this.name = name;
        }
    }

    Semaphores(Environment environment, Function<String, EngineSemaphore> maker) {
        this.environment = environment;
        this.maker = maker;
    }

    @Nullable
    EngineSemaphore find(String name) {
        Entry entry = entries.get(name);
        return entry == null ? null : entry.get();
    }

    EngineSemaphore findOrMake(String name) {
        removeForgotten();
        EngineSemaphore[] kept = new EngineSemaphore[1];
        Entry unused = entries.compute(name, (key, known) -> {
            EngineSemaphore semaphore = known == null ? null : known.get();
            kept[0] = semaphore == null ? maker.apply(key) : semaphore;
            return semaphore == null ? made(key, kept[0]) : known;
        });
        return kept[0];
    }

    private Entry made(String name, EngineSemaphore semaphore) {
        Entry entry = new Entry(name, semaphore);
        semaphore.coordinator().onUse(used -> {
            entry.used = used ? semaphore : null;
            if (used && looking.compareAndSet(false, true)) {
                lookLater();
            }
        });
        return entry;
    }

    List<EngineSemaphore> all() {
        return entries.values().stream()
                .map(Entry::get)
                .filter(Objects::nonNull)
                .toList();
    }

    private void removeForgotten() {
        for (Object gone = forgotten.poll(); gone != null; gone = forgotten.poll()) {
            if (gone instanceof Entry entry) {
                entries.remove(entry.name, entry);
            }
        }
    }

    private void lookLater() {
        Environment.Timer unused = environment.schedule(this::look, LOOK_NANOS);
    }

    private void look() {
        removeForgotten();
        for (Entry entry : entries.values()) {
            EngineSemaphore semaphore = entry.used;
            if (semaphore != null) {
                semaphore.coordinator().restIfUnused();
            }
        }
        looking.set(false);
        boolean more = entries.values().stream().anyMatch(entry -> entry.used != null);
        if (more && looking.compareAndSet(false, true)) {
            lookLater();
        }
    }
}
