package io.github.distributedsemaphore.memory;

import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.spi.BackendAdmin;
import java.util.List;
import java.util.Optional;

/** Carries the administration to the server. */
record MemoryAdmin(MemoryBackend backend) implements BackendAdmin {
    @Override
    public boolean create(String name, int limit) {
        return backend.call("create", () -> backend.server().create(name, limit));
    }

    @Override
    public Optional<SemaphoreDescription> describe(String name) {
        return backend.call("describe", () -> backend.server().describe(name));
    }

    @Override
    public List<String> names() {
        if (!backend.server().capabilities().contains(Capability.LISTING)) {
            throw new UnsupportedOperationException("This server lists no semaphores");
        }
        return backend.call("names", () -> backend.server().names());
    }

    @Override
    public void resize(String name, int limit) {
        backend.call("resize", () -> {
            backend.server().resize(name, limit);
            return true;
        });
    }

    @Override
    public boolean destroy(String name) {
        return backend.call("destroy", () -> backend.server().destroy(name));
    }

    @Override
    public int retiredHolders(String name) {
        return backend.call("retiredHolders", () -> backend.server().retiredHolders(name));
    }
}
