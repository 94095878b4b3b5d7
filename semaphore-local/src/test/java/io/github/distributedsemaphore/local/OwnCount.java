package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;

/**
 * Semaphores that all processes see, and slots that each has for itself.
 *
 * @param shared of all processes
 * @param own of this one
 */
record OwnCount(SemaphoreBackend shared, SemaphoreBackend own) implements SemaphoreBackend {
    @Override
    public Guarantees guarantees() {
        return shared.guarantees();
    }

    @Override
    public BackendSession open(String name, SessionListener listener) {
        shared.admin().describe(name).ifPresent(semaphore -> own.admin().create(name, semaphore.limit()));
        return own.open(name, listener);
    }

    @Override
    public BackendAdmin admin() {
        return shared.admin();
    }

    @Override
    public void close() {
        own.close();
        shared.close();
    }
}
