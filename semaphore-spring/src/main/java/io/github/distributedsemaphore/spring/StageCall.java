package io.github.distributedsemaphore.spring;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.PermitLostException;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
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

    private StageCall(PermitMethod rule, DistributedSemaphore semaphore, CurrentPermit.Call method) {
        this.rule = rule;
        this.semaphore = semaphore;
        this.method = method;
    }

    static CompletableFuture<@Nullable Object> start(
            PermitMethod rule, DistributedSemaphore semaphore, int permits, CurrentPermit.Call method) {
        StageCall call = new StageCall(rule, semaphore, method);
        CompletableFuture<PermitGroup> acquiring = semaphore.acquireAsync(permits, rule.maxWait());
        call.whenCancelled(acquiring);
        CompletableFuture<PermitGroup> unused = acquiring.whenComplete((group, failure) -> {
            if (group != null) {
                call.run(group);
            } else {
                call.refuse(unwrapped(failure));
            }
        });
        return call.result;
    }

    private void whenCancelled(CompletionStage<?> what) {
        CompletableFuture<@Nullable Object> unused = result.whenComplete((value, failure) -> {
            if (result.isCancelled()) {
                cancel(what);
            }
        });
    }

    private static void cancel(CompletionStage<?> stage) {
        try {
            stage.toCompletableFuture().cancel(true);
        } catch (UnsupportedOperationException e) {
            LOG.debug("A stage of {} cannot be cancelled, its permit is held until it completes", stage.getClass(), e);
        }
    }

    private void refuse(Throwable failure) {
        if (rule.skips() && failure instanceof SemaphoreTimeoutException) {
            result.complete(rule.skipped());
        } else {
            result.completeExceptionally(failure);
        }
    }

    private void run(PermitGroup group) {
        if (result.isDone()) {
            release(group, null, null);
            return;
        }
        CompletionStage<?> stage;
        try {
            stage = (CompletionStage<?>) CurrentPermit.during(semaphore, group, method);
        } catch (Throwable failure) {
            release(group, null, failure);
            return;
        }
        if (stage == null) {
            release(group, null, null);
            return;
        }
        whenCancelled(stage);
        group.onLost(loss -> lost(loss, stage));
        stage.whenComplete((value, failure) -> release(group, value, failure));
    }

    private void lost(PermitLoss loss, CompletionStage<?> stage) {
        if (!rule.interrupts()) {
            WithPermitInterceptor.warn(loss);
        } else if (result.completeExceptionally(new PermitLostException(loss))) {
            cancel(stage);
        }
    }

    /** The caller gets the outcome after the release, so that what it does next finds the slot free. */
    private void release(PermitGroup group, @Nullable Object value, @Nullable Throwable failure) {
        CompletableFuture<?> unused = group.releaseAsync().whenComplete((released, problem) -> {
            if (problem != null) {
                LOG.warn("The release of a permit of '{}' is not confirmed", semaphore.name(), problem);
            }
            if (failure == null) {
                result.complete(value);
            } else {
                result.completeExceptionally(unwrapped(failure));
            }
        });
    }

    private static Throwable unwrapped(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    }
}
