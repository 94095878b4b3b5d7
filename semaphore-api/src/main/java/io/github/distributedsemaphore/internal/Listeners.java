package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.SemaphoreListener;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The listeners of one client. Thread-safe. */
final class Listeners {
    private static final Logger LOG = LoggerFactory.getLogger(Listeners.class);

    private final List<SemaphoreListener> listeners = new CopyOnWriteArrayList<>();
    private final Set<SemaphoreListener> faulty =
            Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<>()));

    void add(SemaphoreListener listener) {
        listeners.add(listener);
    }

    void remove(SemaphoreListener listener) {
        listeners.remove(listener);
        faulty.remove(listener);
    }

    boolean areThere() {
        return !listeners.isEmpty();
    }

    void tell(Consumer<SemaphoreListener> news) {
        for (SemaphoreListener listener : listeners) {
            try {
                news.accept(listener);
            } catch (RuntimeException | Error e) {
                if (faulty.add(listener)) {
                    LOG.error("The listener {} failed; its next failures are not logged", listener, e);
                }
            }
        }
    }
}
