package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.SemaphoreStatus;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.Durations;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The administration: checks what it is given, and tells the client's own coordinators of what it changed. */
final class EngineAdmin implements SemaphoreAdmin {
    private static final long FIRST_PAUSE_NANOS = 1_000_000;
    private static final long LONGEST_PAUSE_NANOS = 250_000_000;

    /** How often {@link #ensure} finds a semaphore that is gone when it resizes it, before it gives up. */
    private static final int ENSURE_ATTEMPTS = 10;

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
        return Questions.now(name, () -> backend.admin().create(name, limit));
    }

    @Override
    public OptionalInt ensure(String name, int limit) {
        for (int attempt = 1; ; attempt++) {
            try {
                return create(name, limit) ? OptionalInt.empty() : OptionalInt.of(limit);
            } catch (LimitConflictException other) {
                try {
                    resize(name, limit);
                    return OptionalInt.of(other.found());
                } catch (NoSuchSemaphoreException destroyed) {
                    if (attempt == ENSURE_ATTEMPTS) {
                        throw destroyed;
                    }
                }
            }
        }
    }

    @Override
    public Optional<SemaphoreStatus> status(String name) {
        check(name);
        return Questions.now(name, () -> backend.admin().status(name));
    }

    @Override
    public Optional<SemaphoreDescription> describe(String name) {
        check(name);
        return Questions.now(name, () -> backend.admin().describe(name));
    }

    @Override
    public List<String> names() {
        client.requireOpen();
        return backend.admin().names();
    }

    @Override
    public void resize(String name, int limit) {
        check(name, limit);
        Questions.now(name, () -> {
            backend.admin().resize(name, limit);
            return true;
        });
        client.resized(name, limit);
    }

    @Override
    public boolean destroy(String name) {
        check(name);
        boolean destroyed = Questions.now(name, () -> backend.admin().destroy(name));
        client.resized(name, 0);
        return destroyed;
    }

    @Override
    public boolean awaitReleased(String name, Duration maxWait) throws InterruptedException {
        check(name);
        boolean once = maxWait.isZero() || maxWait.isNegative();
        Deadline deadline = once ? Deadline.NEVER : Deadline.after(environment.nanoTime(), maxWait);
        Integer held = retiredHolders(name, deadline);
        if (held == null) {
            throw new BackendUnavailableException(
                    "Semaphore '" + name + "': the backend did not answer within " + Durations.format(maxWait),
                    null,
                    name);
        }
        long pause = FIRST_PAUSE_NANOS;
        while (held != null && held > 0 && !once) {
            long left = deadline.nanosFrom(environment.nanoTime());
            if (left == 0) {
                return false;
            }
            environment.park(this, Math.min(left, pause));
            held = retiredHoldersWhileOpen(name, deadline);
            pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS);
        }
        return held != null && held == 0;
    }

    /** A client that is closed ends the wait, also if that is what the question fails for. */
    private @Nullable Integer retiredHoldersWhileOpen(String name, Deadline deadline) throws InterruptedException {
        client.requireOpen();
        try {
            return retiredHolders(name, deadline);
        } catch (SemaphoreException e) {
            client.requireOpen();
            throw e;
        }
    }

    /** Asks on a worker. Null if there is no answer by the deadline. */
    private @Nullable Integer retiredHolders(String name, Deadline deadline) throws InterruptedException {
        CompletableFuture<Integer> answer = Questions.ask(
                environment, () -> Questions.now(name, () -> backend.admin().retiredHolders(name)));
        return Questions.await(environment, answer, deadline) ? Questions.result(answer) : null;
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
