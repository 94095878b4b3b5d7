package io.github.distributedsemaphore.micrometer;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Holding;
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
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A semaphore whose waits are observed, for traces: one observation {@code distributed.semaphore.wait} for each call for permits, from
 * its start until it has its permits or ends without. It has the keys {@code semaphore} and {@code outcome} (granted, refused,
 * timed_out, withdrawn, failed), and of high cardinality {@code slot} of the first permit. No scope is open while a permit is held.
 * A handler that throws when an observation ends is logged, and the call goes on.
 *
 * <p>Opt in: applications that only want meters do without. Thread-safe; blocks and throws as the semaphore that it observes.
 */
public final class ObservedSemaphore implements DistributedSemaphore {
    private static final Logger LOG = LoggerFactory.getLogger(ObservedSemaphore.class);
    private static final String REFUSED = "refused";
    private static final String TIMED_OUT = "timed_out";

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

    private <T> T observed(Call<T> call, String withoutPermit) throws InterruptedException {
        Observation wait = start();
        T result;
        try {
            result = call.call();
        } catch (InterruptedException | RuntimeException | Error e) {
            failed(wait, e, withoutPermit);
            throw e;
        }
        ended(wait, result, withoutPermit);
        return result;
    }

    private <T> T observed(Call<T> call) throws InterruptedException {
        return observed(call, REFUSED);
    }

    private <T> T observedAtOnce(Call<T> call) {
        try {
            return observed(call);
        } catch (InterruptedException e) {
            throw new IllegalStateException("A call that does not wait was interrupted", e);
        }
    }

    private <T extends Holding> CompletableFuture<T> observedLater(
            Supplier<CompletableFuture<T>> call, String withoutPermit) {
        Observation wait = start();
        CompletableFuture<T> begun = begun(call, failure -> failed(wait, failure, withoutPermit));
        CompletableFuture<T> handedOut = handedOut(begun);
        CompletableFuture<T> unused = begun.whenComplete((result, failure) -> {
            if (failure != null) {
                failed(wait, failure, withoutPermit);
                handedOut.completeExceptionally(failure);
                return;
            }
            ended(wait, result, withoutPermit);
            if (!handedOut.complete(result)) {
                giveBack(result);
            }
        });
        return handedOut;
    }

    /**
     * Returns what the caller gets in the place of a future. What is chained to a future last runs first: the work that a caller chains
     * would run before the end of the observation. The request ends when the caller cancels or completes what is returned.
     */
    private static <T> CompletableFuture<T> handedOut(CompletableFuture<T> begun) {
        CompletableFuture<T> handedOut = new CompletableFuture<>();
        CompletableFuture<T> unused = handedOut.whenComplete((result, failure) -> begun.completeExceptionally(
                failure == null ? new CancellationException("completed by the caller") : failure));
        return handedOut;
    }

    /** What was granted while the caller gave up. Does not block: this may be a thread of the application. */
    private static void giveBack(Holding unwanted) {
        CompletableFuture<?> released =
                unwanted instanceof PermitGroup group ? group.releaseAsync() : ((Permit) unwanted).releaseAsync();
        CompletableFuture<?> unused = released.whenComplete((outcome, failure) -> {
            if (failure != null) {
                LOG.warn("The release of a permit of '{}' is not confirmed", unwanted.semaphoreName(), failure);
            }
        });
    }

    /** A call of which an argument is wrong throws, and has no future. */
    private static <T> CompletableFuture<T> begun(Supplier<CompletableFuture<T>> call, Consumer<Throwable> onFailure) {
        try {
            return call.get();
        } catch (RuntimeException | Error e) {
            onFailure.accept(e);
            throw e;
        }
    }

    /** As the meters say it: a call with time that gets no permit timed out, and a single attempt is refused. */
    private static String withoutPermit(Duration maxWait) {
        return maxWait.isZero() || maxWait.isNegative() ? REFUSED : TIMED_OUT;
    }

    private static void ended(Observation wait, Object result, String withoutPermit) {
        Object found = result instanceof Optional<?> optional ? optional.orElse(null) : result;
        if (found == null) {
            wait.lowCardinalityKeyValue("outcome", withoutPermit);
        } else {
            Permit first = found instanceof PermitGroup group ? group.permits().get(0) : (Permit) found;
            wait.lowCardinalityKeyValue("outcome", "granted");
            wait.highCardinalityKeyValue("slot", Integer.toString(first.slot()));
        }
        stop(wait);
    }

    private static void failed(Observation wait, Throwable failure, String withoutPermit) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        String outcome = "failed";
        if (cause instanceof SemaphoreTimeoutException) {
            outcome = withoutPermit;
        } else if (cause instanceof InterruptedException
                || cause instanceof CancellationException
                || cause instanceof TimeoutException) {
            // The last is that of a future, by which its caller gives it up.
            outcome = "withdrawn";
        }
        wait.lowCardinalityKeyValue("outcome", outcome);
        try {
            wait.error(cause);
        } catch (Throwable e) {
            warn(e);
        }
        stop(wait);
    }

    /** Stops it, and lets no handler throw anything: the permit would be taken, and nobody would have it. */
    private static void stop(Observation wait) {
        try {
            wait.stop();
        } catch (Throwable e) {
            warn(e);
        }
    }

    private static void warn(Throwable failure) {
        LOG.warn("A handler of observations failed", failure);
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
        return observed(() -> semaphore.acquire(maxWait), withoutPermit(maxWait));
    }

    @Override
    public Optional<Permit> tryAcquire() {
        return observedAtOnce(semaphore::tryAcquire);
    }

    @Override
    public Optional<Permit> tryAcquire(Duration maxWait) throws InterruptedException {
        return observed(() -> semaphore.tryAcquire(maxWait), withoutPermit(maxWait));
    }

    @Override
    public PermitGroup acquire(int permits) throws InterruptedException {
        return observed(() -> semaphore.acquire(permits));
    }

    @Override
    public PermitGroup acquire(int permits, Duration maxWait) throws InterruptedException {
        return observed(() -> semaphore.acquire(permits, maxWait), withoutPermit(maxWait));
    }

    @Override
    public Optional<PermitGroup> tryAcquire(int permits) {
        return observedAtOnce(() -> semaphore.tryAcquire(permits));
    }

    @Override
    public Optional<PermitGroup> tryAcquire(int permits, Duration maxWait) throws InterruptedException {
        return observed(() -> semaphore.tryAcquire(permits, maxWait), withoutPermit(maxWait));
    }

    @Override
    public CompletableFuture<Permit> acquireAsync() {
        return observedLater(semaphore::acquireAsync, REFUSED);
    }

    @Override
    public CompletableFuture<Permit> acquireAsync(Duration maxWait) {
        return observedLater(() -> semaphore.acquireAsync(maxWait), withoutPermit(maxWait));
    }

    @Override
    public CompletableFuture<PermitGroup> acquireAsync(int permits) {
        return observedLater(() -> semaphore.acquireAsync(permits), REFUSED);
    }

    @Override
    public CompletableFuture<PermitGroup> acquireAsync(int permits, Duration maxWait) {
        return observedLater(() -> semaphore.acquireAsync(permits, maxWait), withoutPermit(maxWait));
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
        CompletableFuture<T> begun = begun(
                () -> semaphore.withPermitAsync(maxWait, permit -> {
                    end.once(started -> ended(started, permit, REFUSED));
                    return task.apply(permit);
                }),
                failure -> end.once(started -> failed(started, failure, withoutPermit(maxWait))));
        CompletableFuture<T> handedOut = handedOut(begun);
        CompletableFuture<T> unused = begun.whenComplete((result, failure) -> {
            if (failure == null) {
                handedOut.complete(result);
            } else {
                end.once(started -> failed(started, failure, withoutPermit(maxWait)));
                handedOut.completeExceptionally(failure);
            }
        });
        return handedOut;
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
