package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Guarantees;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** A client: one backend, and one coordinator per name. */
final class EngineClient implements SemaphoreClient {
    private final Map<String, EngineSemaphore> semaphores = new ConcurrentHashMap<>();
    private final SemaphoreBackend backend;
    private final ClientSettings settings;
    private final Environment environment;
    private final Retries retries;
    private final EngineAdmin admin;
    private volatile boolean closed;

    EngineClient(SemaphoreBackend backend, ClientSettings settings, Environment environment) {
        this.backend = backend;
        this.settings = settings;
        this.environment = environment;
        this.retries = new Retries(environment);
        this.admin = new EngineAdmin(this, backend, environment);
    }

    @Override
    public DistributedSemaphore semaphore(String name) {
        Names.check(name, backend.guarantees());
        requireOpen();
        EngineSemaphore known = semaphores.computeIfAbsent(
                name,
                key -> new EngineSemaphore(new Coordinator(key, backend, settings, environment, retries), backend));
        if (closed) {
            // Closed while it was put there: the closing thread may not have seen it.
            known.coordinator().abort();
            requireOpen();
        }
        return known;
    }

    @Override
    public SemaphoreAdmin admin() {
        return admin;
    }

    @Override
    public Guarantees guarantees() {
        return backend.guarantees().withHandOff(settings.handOffs() == 0 ? Duration.ZERO : settings.handOffTime());
    }

    void requireOpen() {
        if (closed) {
            throw Failures.clientClosed();
        }
    }

    void resized(String name, int limit) {
        EngineSemaphore semaphore = semaphores.get(name);
        if (semaphore != null) {
            semaphore.coordinator().resized(limit);
        }
    }

    @Override
    public void close() {
        end(Coordinator::close);
    }

    @Override
    public void abort() {
        end(Coordinator::abort);
    }

    private void end(Consumer<Coordinator> how) {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        endAll(semaphores.values().stream().map(EngineSemaphore::coordinator).toList(), how);
        backend.close();
        environment.close();
    }

    /** All at the same time, for each may have to wait for a backend that does not answer. */
    private void endAll(List<Coordinator> coordinators, Consumer<Coordinator> how) {
        AtomicInteger left = new AtomicInteger(coordinators.size());
        Thread caller = Thread.currentThread();
        for (int i = 1; i < coordinators.size(); i++) {
            Coordinator coordinator = coordinators.get(i);
            environment.execute(() -> {
                try {
                    how.accept(coordinator);
                } finally {
                    left.decrementAndGet();
                    environment.unpark(caller);
                }
            });
        }
        if (!coordinators.isEmpty()) {
            how.accept(coordinators.get(0));
            left.decrementAndGet();
        }
        boolean interrupted = false;
        while (left.get() > 0) {
            environment.park(this, Long.MAX_VALUE);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            caller.interrupt();
        }
    }
}
