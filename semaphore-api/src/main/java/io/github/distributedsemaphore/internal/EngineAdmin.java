package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
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
    private final Outage.Retries retries;
    private final Duration patience;

    EngineAdmin(
            EngineClient client,
            SemaphoreBackend backend,
            Environment environment,
            Outage.Retries retries,
            ClientSettings settings) {
        this.client = client;
        this.backend = backend;
        this.environment = environment;
        this.retries = retries;
        this.patience = settings.outagePatience();
    }

    @Override
    public boolean create(String name, int limit) {
        check(name, limit);
        return Questions.now(name, client::requireOpen, () -> backend.admin().create(name, limit));
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
        return Questions.now(name, client::requireOpen, () -> backend.admin().status(name));
    }

    @Override
    public Optional<SemaphoreDescription> describe(String name) {
        check(name);
        return Questions.now(name, client::requireOpen, () -> backend.admin().describe(name));
    }

    @Override
    public List<String> names() {
        client.requireOpen();
        try {
            return backend.admin().names();
        } catch (BackendUnavailableException e) {
            client.requireOpen();
            throw e;
        } catch (SemaphoreException | UnsupportedOperationException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new OutcomeUnknownException("The backend failed to list its semaphores: " + e, e);
        }
    }

    @Override
    public void resize(String name, int limit) {
        check(name, limit);
        Questions.now(name, client::requireOpen, () -> {
            backend.admin().resize(name, limit);
            return true;
        });
        client.resized(name, limit);
    }

    @Override
    public boolean destroy(String name) {
        check(name);
        boolean destroyed =
                Questions.now(name, client::requireOpen, () -> backend.admin().destroy(name));
        client.resized(name, 0);
        return destroyed;
    }

    @Override
    public boolean awaitReleased(String name, Duration maxWait) throws InterruptedException {
        check(name);
        if (maxWait.isZero() || maxWait.isNegative()) {
            CompletableFuture<Integer> answer = retiredHolders(name);
            Questions.await(environment, answer, Deadline.NEVER);
            return Questions.result(answer) == 0;
        }
        return new ReleaseWait(name, maxWait).await();
    }

    /** Asks on a worker. */
    private CompletableFuture<Integer> retiredHolders(String name) {
        return Questions.askToAwait(
                environment,
                () -> Questions.now(
                        name, client::requireOpen, () -> backend.admin().retiredHolders(name)));
    }

    /** One wait for the holders of removed slots. It rides out an outage as an acquire does, see {@link Outage}. */
    private final class ReleaseWait {
        private final String name;
        private final Duration maxWait;
        private final Deadline deadline;
        private long pause = FIRST_PAUSE_NANOS;
        private boolean everAnswered;

        /** Why the last question was not answered; null if it was. */
        private @Nullable RuntimeException reason;

        /** When the first question was asked that was not answered. */
        private long since;

        ReleaseWait(String name, Duration maxWait) {
            this.name = name;
            this.maxWait = maxWait;
            this.deadline = Deadline.after(environment.nanoTime(), maxWait);
        }

        boolean await() throws InterruptedException {
            while (true) {
                client.requireOpen();
                long asked = environment.nanoTime();
                CompletableFuture<Integer> answer = retiredHolders(name);
                if (!Questions.await(environment, answer, end())) {
                    return over();
                }
                if (isReleased(answer, asked)) {
                    return true;
                }
                if (end().isPast(environment.nanoTime())) {
                    return over();
                }
                if (reason == null) {
                    pauseBetweenAnswers();
                } else {
                    awaitTurn();
                }
            }
        }

        private boolean isReleased(CompletableFuture<Integer> answer, long asked) {
            try {
                int held = Questions.result(answer);
                everAnswered = true;
                reason = null;
                retries.answered();
                return held == 0;
            } catch (RuntimeException e) {
                if (!Failures.mayPass(e)) {
                    throw e;
                }
                since = reason == null ? asked : since;
                reason = e;
                retries.failed();
                return false;
            }
        }

        private Deadline end() {
            return reason == null ? deadline : deadline.earlier(Deadline.after(since, patience));
        }

        private void pauseBetweenAnswers() {
            environment.park(this, Math.min(end().nanosFrom(environment.nanoTime()), pause));
            pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS);
        }

        /** The retries of a client are paced for all its semaphores. A client that is closed meanwhile gives nobody a turn. */
        private void awaitTurn() throws InterruptedException {
            CompletableFuture<Boolean> turn = new CompletableFuture<>();
            Runnable taken = () -> turn.complete(true);
            retries.later(taken);
            try {
                Deadline longest = Deadline.at(environment.nanoTime() + Outage.Retries.LONGEST_NANOS);
                Questions.await(environment, turn, end().earlier(longest));
            } finally {
                retries.leave(taken);
            }
        }

        private boolean over() {
            if (reason != null) {
                Duration tried = Duration.ofMillis((environment.nanoTime() - since) / 1_000_000);
                throw Failures.awayFor(name, Durations.format(tried), reason);
            }
            if (!everAnswered) {
                throw new BackendUnavailableException(
                        "Semaphore '" + name + "': the backend did not answer within " + Durations.format(maxWait),
                        null,
                        name);
            }
            return false;
        }
    }

    private void check(String name) {
        client.requireOpen();
        client.check(name);
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
