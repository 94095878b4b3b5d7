package io.github.distributedsemaphore.micrometer;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreStatistics;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A semaphore whose waits are observed, for traces: one observation {@code distributed.semaphore.wait} for each call for permits, from
 * its start until it has its permits or ends without. It has the keys {@code semaphore} and {@code outcome} (granted, refused,
 * timed_out, withdrawn, failed), and of high cardinality {@code slot} of the first permit. No scope is open while a permit is held.
 *
 * <p>Opt in: applications that only want meters do without. Thread-safe; blocks and throws as the semaphore that it observes.
 */
public final class ObservedSemaphore implements DistributedSemaphore {
    private final DistributedSemaphore semaphore;
    private final ObservationRegistry registry;

    /**
     * Observes a semaphore.
     *
     * @param semaphore the semaphore
     * @param registry takes the observations
     */
    public ObservedSemaphore(DistributedSemaphore semaphore, ObservationRegistry registry) {
        this.semaphore = semaphore;
        this.registry = registry;
    }

    /** A call that may be interrupted. */
    @FunctionalInterface
    private interface Call<T> {
        T call() throws InterruptedException;
    }

    private Observation start() {
        return Observation.createNotStarted("distributed.semaphore.wait", registry)
                .contextualName("acquire " + name())
                .lowCardinalityKeyValue("semaphore", name())
                .start();
    }

    private <T> T observed(Call<T> call) throws InterruptedException {
        Observation wait = start();
        T result = null;
        try {
            result = call.call();
            return result;
        } catch (InterruptedException | RuntimeException | Error e) {
            failed(wait, e);
            throw e;
        } finally {
            if (result != null) {
                ended(wait, result);
            }
        }
    }

    private <T> T observedAtOnce(Call<T> call) {
        try {
            return observed(call);
        } catch (InterruptedException e) {
            throw new IllegalStateException("A call that does not wait was interrupted", e);
        }
    }

    private <T> CompletableFuture<T> observedLater(CompletableFuture<T> future, Observation wait) {
        // Not the dependent future is returned: to cancel that would not withdraw the request.
        CompletableFuture<T> unused = future.whenComplete((result, failure) -> {
            if (failure == null) {
                ended(wait, result);
            } else {
                failed(wait, failure);
            }
        });
        return future;
    }

    private static void ended(Observation wait, @Nullable Object result) {
        Object found = result instanceof Optional<?> optional ? optional.orElse(null) : result;
        if (found == null) {
            wait.lowCardinalityKeyValue("outcome", "refused");
        } else {
            Permit first = found instanceof PermitGroup group ? group.permits().get(0) : (Permit) found;
            wait.lowCardinalityKeyValue("outcome", "granted");
            wait.highCardinalityKeyValue("slot", Integer.toString(first.slot()));
        }
        wait.stop();
    }

    private static void failed(Observation wait, Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        String outcome = "failed";
        if (cause instanceof SemaphoreTimeoutException) {
            outcome = "timed_out";
        } else if (cause instanceof InterruptedException || cause instanceof CancellationException) {
            outcome = "withdrawn";
        }
        wait.lowCardinalityKeyValue("outcome", outcome);
        wait.error(cause);
        wait.stop();
    }

    @Override
    public String name() {
        return semaphore.name();
    }

    @Override
    public Permit acquire() throws InterruptedException {
        return observed(semaphore::acquire);
    }

    @Override
    public Permit acquire(Duration maxWait) throws InterruptedException {
        return observed(() -> semaphore.acquire(maxWait));
    }

    @Override
    public Optional<Permit> tryAcquire() {
        return observedAtOnce(semaphore::tryAcquire);
    }

    @Override
    public Optional<Permit> tryAcquire(Duration maxWait) throws InterruptedException {
        return observed(() -> semaphore.tryAcquire(maxWait));
    }

    @Override
    public PermitGroup acquire(int permits) throws InterruptedException {
        return observed(() -> semaphore.acquire(permits));
    }

    @Override
    public PermitGroup acquire(int permits, Duration maxWait) throws InterruptedException {
        return observed(() -> semaphore.acquire(permits, maxWait));
    }

    @Override
    public Optional<PermitGroup> tryAcquire(int permits) {
        return observedAtOnce(() -> semaphore.tryAcquire(permits));
    }

    @Override
    public Optional<PermitGroup> tryAcquire(int permits, Duration maxWait) throws InterruptedException {
        return observed(() -> semaphore.tryAcquire(permits, maxWait));
    }

    @Override
    public CompletableFuture<Permit> acquireAsync() {
        Observation wait = start();
        return observedLater(semaphore.acquireAsync(), wait);
    }

    @Override
    public CompletableFuture<Permit> acquireAsync(Duration maxWait) {
        Observation wait = start();
        return observedLater(semaphore.acquireAsync(maxWait), wait);
    }

    @Override
    public CompletableFuture<PermitGroup> acquireAsync(int permits) {
        Observation wait = start();
        return observedLater(semaphore.acquireAsync(permits), wait);
    }

    @Override
    public CompletableFuture<PermitGroup> acquireAsync(int permits, Duration maxWait) {
        Observation wait = start();
        return observedLater(semaphore.acquireAsync(permits, maxWait), wait);
    }

    @Override
    public int availablePermits() {
        return semaphore.availablePermits();
    }

    @Override
    public SemaphoreStatistics statistics() {
        return semaphore.statistics();
    }

    @Override
    public <T> CompletableFuture<T> withPermitAsync(
            Duration maxWait, Function<? super Permit, ? extends CompletionStage<T>> task) {
        Observation wait = start();
        Once end = new Once(wait);
        CompletableFuture<T> future = semaphore.withPermitAsync(maxWait, permit -> {
            end.once(started -> ended(started, permit));
            return task.apply(permit);
        });
        CompletableFuture<T> unused = future.whenComplete((result, failure) -> {
            if (failure != null) {
                end.once(started -> failed(started, failure));
            }
        });
        return future;
    }

    /** The wait of a task under a permit ends when the task begins; what the task does is not observed here. */
    private static final class Once {
        private @Nullable Observation wait;

        Once(Observation wait) {
            this.wait = wait;
        }

        void once(Consumer<Observation> end) {
            Observation open;
            synchronized (this) {
                open = wait;
                wait = null;
            }
            if (open != null) {
                end.accept(open);
            }
        }
    }

    @Override
    public String toString() {
        return "observed " + semaphore;
    }
}
