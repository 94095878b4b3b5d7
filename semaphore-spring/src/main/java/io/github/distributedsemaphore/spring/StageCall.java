package io.github.distributedsemaphore.spring;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.PermitLostException;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One call of a method that returns a stage: it holds its permits until the stage completes. Thread-safe. */
final class StageCall {
    private static final Logger LOG = LoggerFactory.getLogger(WithPermit.class);

    private final PermitMethod rule;
    private final DistributedSemaphore semaphore;
    private final CurrentPermit.Call method;
    private final CompletableFuture<@Nullable Object> result = new CompletableFuture<>();

    /** What the method returned. */
    private volatile @Nullable CompletionStage<?> stage;

    private volatile @Nullable PermitLostException lost;

    private final Consumer<PermitLoss> warning = WithPermitInterceptor.warning();

    private StageCall(PermitMethod rule, DistributedSemaphore semaphore, CurrentPermit.Call method) {
        this.rule = rule;
        this.semaphore = semaphore;
        this.method = method;
    }

    static CompletableFuture<@Nullable Object> start(
            PermitMethod rule, DistributedSemaphore semaphore, int permits, CurrentPermit.Call method) {
        StageCall call = new StageCall(rule, semaphore, method);
        Thread caller = Thread.currentThread();
        CompletableFuture<PermitGroup> acquiring = semaphore.acquireAsync(permits, rule.maxWait());
        call.withdrawWithResult(acquiring);
        CompletableFuture<PermitGroup> unused = acquiring.whenComplete((group, failure) -> {
            if (group == null) {
                call.refuse(unwrapped(failure));
            } else if (Thread.currentThread() == caller) {
                call.runElsewhere(group);
            } else {
                call.run(group);
            }
        });
        return call.result;
    }

    /**
     * A caller that has cancelled or completed the result has no use for the permit, as after {@code orTimeout}. A result that completes by
     * itself does so after the request, and then this does nothing. A method that was called goes on: to cancel a {@code
     * CompletableFuture} does not end the work that completes it, which needs its permit.
     */
    private void withdrawWithResult(CompletableFuture<PermitGroup> acquiring) {
        CompletableFuture<@Nullable Object> unused = result.whenComplete((value, failure) -> acquiring.cancel(true));
    }

    private void cancelStage() {
        CompletionStage<?> returned = stage;
        if (returned == null) {
            return;
        }
        try {
            returned.toCompletableFuture().cancel(true);
        } catch (UnsupportedOperationException e) {
            LOG.debug("A stage of {} cannot be cancelled, and goes on without its permit", returned.getClass(), e);
        }
    }

    private void refuse(Throwable failure) {
        if (rule.skips() && failure instanceof SemaphoreTimeoutException) {
            result.complete(rule.skipped());
        } else {
            result.completeExceptionally(failure);
        }
    }

    /** A permit that is there at once would have the method run on its caller's thread, before the caller has the future. */
    private void runElsewhere(PermitGroup group) {
        Thread thread = new Thread(null, () -> run(group), "with-permit-" + semaphore.name(), 0, false);
        thread.setDaemon(true);
        try {
            thread.start();
        } catch (OutOfMemoryError noThread) {
            release(group, null, noThread);
        }
    }

    private void run(PermitGroup group) {
        if (result.isDone()) {
            release(group, null, null);
            return;
        }
        CompletionStage<?> returned;
        try {
            returned = (CompletionStage<?>) WithPermitInterceptor.runBody(rule, semaphore, group, this::begin);
        } catch (Throwable failure) {
            // There is a stage if the permit was lost before the method returned it.
            cancelStage();
            release(group, null, failure);
            return;
        }
        if (returned == null) {
            release(group, null, null);
            return;
        }
        group.onLost(this::lost);
        returned.whenComplete((value, failure) -> release(group, value, failure));
    }

    private @Nullable Object begin() throws Throwable {
        CompletionStage<?> returned = (CompletionStage<?>) method.run();
        stage = returned;
        return returned;
    }

    private void lost(PermitLoss loss) {
        if (rule.interrupts()) {
            PermitLostException failure = new PermitLostException(loss);
            // The cancellation fails the stage, and the caller is to hear of the loss instead.
            lost = failure;
            try {
                // First, since what the caller has chained to the result runs here and may wait until the work ends.
                cancelStage();
            } finally {
                result.completeExceptionally(failure);
            }
        } else {
            warning.accept(loss);
        }
    }

    /** The caller gets the outcome after the release, so that what it does next finds the slot free. */
    private void release(PermitGroup group, @Nullable Object value, @Nullable Throwable failure) {
        CompletableFuture<?> unused = group.releaseAsync().whenComplete((released, problem) -> {
            Throwable outcome = lost == null ? failure : lost;
            if (released == null) {
                WithPermitInterceptor.notConfirmed(group, problem);
            } else {
                outcome = afterRelease(
                        outcome == null ? null : unwrapped(outcome),
                        PermitLoss.foundBy(group, released).orElse(null));
            }
            if (outcome == null) {
                result.complete(value);
            } else {
                result.completeExceptionally(unwrapped(outcome));
            }
        });
    }

    /** A permit may be lost before anybody was told. */
    private @Nullable Throwable afterRelease(@Nullable Throwable outcome, @Nullable PermitLoss found) {
        if (found == null) {
            return outcome;
        }
        if (rule.interrupts()) {
            return WithPermitInterceptor.lost(found, outcome);
        }
        warning.accept(found);
        return outcome;
    }

    private static Throwable unwrapped(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    }
}
