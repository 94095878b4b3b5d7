package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Guarantees;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.spi.Durations;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** The driving port over a coordinator. */
final class EngineSemaphore implements DistributedSemaphore {
    private final Coordinator coordinator;
    private final SemaphoreBackend backend;
    private final Acquisition acquisition;

    EngineSemaphore(Coordinator coordinator, SemaphoreBackend backend) {
        this.coordinator = coordinator;
        this.backend = backend;
        this.acquisition = new Acquisition(coordinator);
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
    public CompletableFuture<PermitGroup> acquireAsync(int permits, Duration maxWait) {
        return async(checked(permits), deadline(maxWait), held -> new HeldPermitGroup(coordinator, held), maxWait);
    }

    private <T> CompletableFuture<T> async(
            int permits, Deadline deadline, Function<List<HeldPermit>, T> shape, Duration maxWait) {
        return new AsyncAcquisition<>(coordinator, permits, deadline, shape, () -> timeout(permits, maxWait)).start();
    }

    private List<HeldPermit> await(int permits, Duration maxWait) throws InterruptedException {
        if (maxWait.isZero() || maxWait.isNegative()) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            return acquisition.attempt(permits);
        }
        return acquisition.await(permits, deadline(maxWait));
    }

    private Deadline deadline(Duration maxWait) {
        return Deadline.after(coordinator.now(), maxWait);
    }

    private int checked(int permits) {
        int most = backend.guarantees().maxPermits();
        if (permits < 1 || permits > most) {
            throw new IllegalArgumentException(
                    permits + " permits of semaphore '" + name() + "' were asked for: it must be from 1 to " + most);
        }
        return permits;
    }

    private SemaphoreTimeoutException timeout(int permits, Duration maxWait) {
        return new SemaphoreTimeoutException(
                "No " + (permits == 1 ? "permit" : permits + " permits") + " of semaphore '"
                        + name() + "' could be had within "
                        + Durations.format(maxWait.isNegative() ? Duration.ZERO : maxWait));
    }

    private static Optional<Permit> single(List<HeldPermit> permits) {
        return permits.isEmpty() ? Optional.empty() : Optional.of(permits.get(0));
    }

    private Optional<PermitGroup> group(List<HeldPermit> permits) {
        return permits.isEmpty() ? Optional.empty() : Optional.of(new HeldPermitGroup(coordinator, permits));
    }

    @Override
    public int availablePermits() {
        coordinator.requireOpen();
        try {
            return backend.admin()
                    .describe(name())
                    .map(SemaphoreDescription::free)
                    .orElseThrow(() -> Failures.missing(name()));
        } catch (SemaphoreException e) {
            throw Failures.naming(name(), e);
        }
    }

    @Override
    public String toString() {
        Guarantees guarantees = backend.guarantees();
        return "semaphore '" + name() + "' in " + guarantees.backend();
    }
}
