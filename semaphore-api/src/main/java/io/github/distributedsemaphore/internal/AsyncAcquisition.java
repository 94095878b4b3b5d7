package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * One acquire whose caller does not wait. It completes on a worker that nothing else depends on, so what is chained to the
 * future may block.
 *
 * @param <T> what the future completes with
 */
final class AsyncAcquisition<T> {
    private final CompletableFuture<T> future = new CompletableFuture<>();
    private final Coordinator coordinator;
    private final Environment environment;
    private final int permits;
    private final Deadline deadline;
    private final Function<List<HeldPermit>, T> shape;
    private final Supplier<RuntimeException> timeout;

    AsyncAcquisition(
            Coordinator coordinator,
            int permits,
            Deadline deadline,
            Function<List<HeldPermit>, T> shape,
            Supplier<RuntimeException> timeout) {
        this.coordinator = coordinator;
        this.environment = coordinator.environment();
        this.permits = permits;
        this.deadline = deadline;
        this.shape = shape;
        this.timeout = timeout;
    }

    CompletableFuture<T> start() {
        submit();
        return future;
    }

    private void submit() {
        boolean once = deadline.isPast(environment.nanoTime());
        // The waiter is made before it can be known to the wake-up that reads its outcome: hence the holder.
        AcquireCall[] waiter = new AcquireCall[1];
        waiter[0] = new AcquireCall(
                permits, deadline, once, coordinator.afterwards(() -> environment.execute(() -> complete(waiter[0]))));
        AcquireCall submitted = waiter[0];
        coordinator.submit(submitted);
        whenOver(() -> coordinator.withdraw(submitted));
        if (!once && !deadline.isNever()) {
            expireAtDeadline(submitted);
        }
        coordinator.passOn();
    }

    /** Also when the caller cancels the future or completes it itself. */
    @SuppressWarnings("FutureReturnValueIgnored") // the action does not throw
    private void whenOver(Runnable action) {
        future.whenComplete((result, failure) -> action.run());
    }

    private void expireAtDeadline(AcquireCall waiter) {
        Environment.Timer timer =
                environment.schedule(() -> expire(waiter), waiter.deadline().nanosFrom(environment.nanoTime()));
        whenOver(timer::cancel);
    }

    private void expire(AcquireCall waiter) {
        coordinator.expire(waiter);
        if (!waiter.isDone()) {
            // An answer may be on its way, and has a moment more.
            expireAtDeadline(waiter);
        }
        coordinator.driveAll();
    }

    private void complete(AcquireCall waiter) {
        List<HeldPermit> granted;
        try {
            granted = waiter.outcome();
        } catch (RuntimeException e) {
            fail(e);
            return;
        }
        if (granted.isEmpty()) {
            // Withdrawn, and then the future is complete already; or the time is over.
            fail(timeout.get());
        } else if (future.isDone()) {
            coordinator.releaseLater(granted);
        } else if (!granted.stream().allMatch(HeldPermit::isValid)) {
            coordinator.releaseLater(granted);
            submit();
        } else {
            environment.callBack(() -> {
                if (!future.complete(shape.apply(granted))) {
                    coordinator.releaseLater(granted);
                }
            });
        }
    }

    private void fail(RuntimeException reason) {
        if (!future.isDone()) {
            environment.callBack(() -> future.completeExceptionally(reason));
        }
    }
}
