package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** The administration: checks what it is given, and tells the client's own coordinators of what it changed. */
final class EngineAdmin implements SemaphoreAdmin {
    private static final long FIRST_PAUSE_NANOS = 1_000_000;
    private static final long LONGEST_PAUSE_NANOS = 250_000_000;

    private final EngineClient client;
    private final SemaphoreBackend backend;
    private final Environment environment;

    EngineAdmin(EngineClient client, SemaphoreBackend backend, Environment environment) {
        this.client = client;
        this.backend = backend;
        this.environment = environment;
    }

    @Override
    public boolean create(String name, int limit) {
        check(name, limit);
        return asked(name, () -> backend.admin().create(name, limit));
    }

    @Override
    public Optional<SemaphoreDescription> describe(String name) {
        check(name);
        return asked(name, () -> backend.admin().describe(name));
    }

    @Override
    public List<String> names() {
        client.requireOpen();
        return backend.admin().names();
    }

    @Override
    public void resize(String name, int limit) {
        check(name, limit);
        asked(name, () -> {
            backend.admin().resize(name, limit);
            return true;
        });
        client.resized(name, limit);
    }

    @Override
    public boolean destroy(String name) {
        check(name);
        boolean destroyed = asked(name, () -> backend.admin().destroy(name));
        client.resized(name, 0);
        return destroyed;
    }

    @Override
    public boolean awaitReleased(String name, Duration maxWait) throws InterruptedException {
        check(name);
        Deadline deadline = Deadline.after(environment.nanoTime(), maxWait);
        long pause = FIRST_PAUSE_NANOS;
        while (asked(name, () -> backend.admin().retiredHolders(name)) > 0) {
            long left = deadline.nanosFrom(environment.nanoTime());
            if (left == 0) {
                return false;
            }
            environment.park(this, Math.min(left, pause));
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS);
        }
        return true;
    }

    private static <T> T asked(String name, Supplier<T> question) {
        try {
            return question.get();
        } catch (SemaphoreException e) {
            throw Failures.naming(name, e);
        }
    }

    private void check(String name) {
        client.requireOpen();
        Names.check(name, backend.guarantees());
    }

    private void check(String name, int limit) {
        check(name);
        int most = backend.guarantees().maxPermits();
        if (limit < 1 || limit > most) {
            throw new IllegalArgumentException(
                    "Semaphore '" + name + "' cannot have limit " + limit + ": it must be from 1 to " + most);
        }
    }
}
