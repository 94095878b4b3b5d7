package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreStatistics;
import io.github.distributedsemaphore.SemaphoreStatus;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.Durations;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The driving port over a coordinator. */
final class EngineSemaphore implements DistributedSemaphore {
    private final Coordinator coordinator;
    private final SemaphoreBackend backend;
    private final int maxPermits;
    private final Acquisition acquisition;

    EngineSemaphore(Coordinator coordinator, SemaphoreBackend backend) {
        this.coordinator = coordinator;
        this.backend = backend;
        this.maxPermits = backend.guarantees().maxPermits();
        this.acquisition = coordinator.acquisition();
    }

    Coordinator coordinator() {
        return coordinator;
    }

    @Override
    public String name() {
        return coordinator.name();
    }

    @Override
    public Permit acquire() throws InterruptedException {
        return acquisition.await(1, Deadline.NEVER).get(0);
    }

    @Override
    public Permit acquire(Duration maxWait) throws InterruptedException {
        return tryAcquire(maxWait).orElseThrow(() -> timeout(1, maxWait));
    }

    @Override
    public Optional<Permit> tryAcquire() {
        return single(acquisition.attempt(1));
    }

    @Override
    public Optional<Permit> tryAcquire(Duration maxWait) throws InterruptedException {
        return single(await(1, maxWait));
    }

    @Override
    public PermitGroup acquire(int permits) throws InterruptedException {
        return group(acquisition.await(checked(permits), Deadline.NEVER)).orElseThrow();
    }

    @Override
    public PermitGroup acquire(int permits, Duration maxWait) throws InterruptedException {
        return tryAcquire(permits, maxWait).orElseThrow(() -> timeout(permits, maxWait));
    }

    @Override
    public Optional<PermitGroup> tryAcquire(int permits) {
        return group(acquisition.attempt(checked(permits)));
    }

    @Override
    public Optional<PermitGroup> tryAcquire(int permits, Duration maxWait) throws InterruptedException {
        return group(await(checked(permits), maxWait));
    }

    @Override
    public CompletableFuture<Permit> acquireAsync() {
        return async(1, Deadline.NEVER, permits -> permits.get(0), Duration.ZERO);
    }

    @Override
    public CompletableFuture<Permit> acquireAsync(Duration maxWait) {
        return async(1, deadline(maxWait), permits -> permits.get(0), maxWait);
    }

    @Override
    public CompletableFuture<PermitGroup> acquireAsync(int permits) {
        return async(checked(permits), Deadline.NEVER, held -> new HeldPermit.Group(coordinator, held), Duration.ZERO);
    }

    @Override
    public CompletableFuture<PermitGroup> acquireAsync(int permits, Duration maxWait) {
        return async(checked(permits), deadline(maxWait), held -> new HeldPermit.Group(coordinator, held), maxWait);
    }

    private <T> CompletableFuture<T> async(
            int permits, Deadline deadline, Function<List<HeldPermit>, T> shape, Duration maxWait) {
        boolean once = !deadline.isNever() && isOneAttempt(maxWait);
        return acquisition.async(permits, deadline, once, shape, () -> timeout(permits, maxWait));
    }

    private List<HeldPermit> await(int permits, Duration maxWait) throws InterruptedException {
        if (isOneAttempt(maxWait)) {
            acquisition.endIfInterrupted();
            return acquisition.attempt(permits);
        }
        return acquisition.await(permits, deadline(maxWait));
    }

    private static boolean isOneAttempt(Duration maxWait) {
        return maxWait.isZero() || maxWait.isNegative();
    }

    private Deadline deadline(Duration maxWait) {
        return Deadline.after(coordinator.environment().nanoTime(), maxWait);
    }

    private int checked(int permits) {
        if (permits < 1 || permits > maxPermits) {
            throw new IllegalArgumentException(permits + " permits of semaphore '" + name()
                    + "' were asked for: it must be from 1 to " + maxPermits);
        }
        return permits;
    }

    private SemaphoreTimeoutException timeout(int permits, Duration maxWait) {
        return new SemaphoreTimeoutException(
                "No " + (permits == 1 ? "permit" : permits + " permits") + " of semaphore '"
                        + name() + "' was granted within "
                        + Durations.format(maxWait.isNegative() ? Duration.ZERO : maxWait),
                name());
    }

    private static Optional<Permit> single(List<HeldPermit> permits) {
        return permits.isEmpty() ? Optional.empty() : Optional.of(permits.get(0));
    }

    private Optional<PermitGroup> group(List<HeldPermit> permits) {
        return permits.isEmpty() ? Optional.empty() : Optional.of(new HeldPermit.Group(coordinator, permits));
    }

    @Override
    public int availablePermits() {
        coordinator.requireOpen();
        return Questions.now(
                        name(), coordinator::requireOpen, () -> backend.admin().status(name()))
                .map(SemaphoreStatus::free)
                .orElseThrow(() -> Failures.missing(name()));
    }

    @Override
    public SemaphoreStatistics statistics() {
        return coordinator.statistics();
    }

    @Override
    public <T> CompletableFuture<T> withPermitAsync(
            Duration maxWait, Function<? super Permit, ? extends CompletionStage<T>> task) {
        return new AsyncTask<>(coordinator, acquireAsync(maxWait), task).start();
    }

    @Override
    public String toString() {
        Guarantees guarantees = backend.guarantees();
        return "semaphore '" + name() + "' in " + guarantees.backend();
    }

    /**
     * A task that starts when a permit is there and keeps it until the stage it returned completes.
     *
     * @param <T> what the stage completes with
     */
    private static final class AsyncTask<T> {
        private final CompletableFuture<T> result = new CompletableFuture<>();
        private final Environment environment;
        private final Acquisition acquisition;
        private final CompletableFuture<Permit> acquired;
        private final Function<? super Permit, ? extends CompletionStage<T>> task;

        AsyncTask(
                Coordinator coordinator,
                CompletableFuture<Permit> acquired,
                Function<? super Permit, ? extends CompletionStage<T>> task) {
            this.environment = coordinator.environment();
            this.acquisition = coordinator.acquisition();
            this.acquired = acquired;
            this.task = task;
        }

        @SuppressWarnings("FutureReturnValueIgnored") // neither action throws
        CompletableFuture<T> start() {
            // A cancelled result withdraws the request; once the permit is there this does nothing.
            result.whenComplete((value, failure) -> acquired.cancel(false));
            // Not on the caller's thread, where a permit that is there already would have the task run.
            acquired.whenComplete((permit, failure) -> {
                if (failure == null) {
                    runUnlessOver(permit);
                } else {
                    result.completeExceptionally(failure);
                }
            });
            return result;
        }

        /** An executor of the application may be late: a result that ends meanwhile does not wait for it. */
        @SuppressWarnings("FutureReturnValueIgnored") // the action does not throw
        private void runUnlessOver(Permit permit) {
            AtomicBoolean taken = new AtomicBoolean();
            result.whenComplete((value, failure) -> {
                if (taken.compareAndSet(false, true)) {
                    environment.execute(permit::close);
                }
            });
            environment.execute(() -> environment.callBack(() -> {
                if (taken.compareAndSet(false, true)) {
                    run(permit);
                }
            }));
        }

        private void run(Permit permit) {
            // The executor may have been late again, and the permit have ended meanwhile.
            if (permit.isValid()) {
                runUnder(permit);
            } else {
                fail(permit, acquisition.notSure());
            }
        }

        @SuppressWarnings("FutureReturnValueIgnored") // the action does not throw
        private void runUnder(Permit permit) {
            CompletionStage<T> stage;
            try {
                stage = task.apply(permit);
            } catch (Throwable e) {
                // Of any kind: Kotlin and others throw checked exceptions where Java declares none.
                fail(permit, e);
                return;
            }
            if (stage == null) {
                fail(permit, new NullPointerException("The task returned no stage"));
                return;
            }
            // The stage may complete on a thread that must not block.
            stage.whenComplete((value, failure) -> environment.execute(() -> finish(permit, value, failure)));
        }

        /** Elsewhere: this thread is the application's and may be one that must not block, as the release does. */
        private void fail(Permit permit, Throwable failure) {
            environment.execute(() -> finish(permit, null, failure));
        }

        private void finish(Permit permit, @Nullable T value, @Nullable Throwable failure) {
            permit.close();
            environment.callBack(() -> {
                if (failure == null) {
                    result.complete(value);
                } else {
                    result.completeExceptionally(failure);
                }
            });
        }
    }
}
