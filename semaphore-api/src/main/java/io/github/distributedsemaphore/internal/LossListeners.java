package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.PermitLoss;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The listeners of one permit. Each is called once, on a task of its own, so that one that blocks or throws harms nobody.
 * Thread-safe; calls nothing while it holds its lock.
 */
final class LossListeners {
    private final Environment environment;
    private List<Consumer<? super PermitLoss>> listeners = List.of();
    private @Nullable PermitLoss loss;

    LossListeners(Environment environment) {
        this.environment = environment;
    }

    void add(Consumer<? super PermitLoss> listener) {
        PermitLoss known;
        synchronized (this) {
            known = loss;
            if (known == null) {
                listeners = listeners.isEmpty() ? new ArrayList<>(1) : listeners;
                listeners.add(listener);
            }
        }
        if (known != null) {
            tell(listener, known);
        }
    }

    void lost(PermitLoss news) {
        List<Consumer<? super PermitLoss>> told;
        synchronized (this) {
            if (loss != null) {
                return;
            }
            loss = news;
            told = listeners;
            listeners = List.of();
        }
        told.forEach(listener -> tell(listener, news));
    }

    private void tell(Consumer<? super PermitLoss> listener, PermitLoss news) {
        environment.execute(() -> environment.callBack(() -> listener.accept(news)));
    }
}
