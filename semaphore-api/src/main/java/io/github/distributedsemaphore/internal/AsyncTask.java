package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Permit;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A task that starts when a permit is there and keeps it until the stage it returned completes.
 *
 * @param <T> what the stage completes with
 */
final class AsyncTask<T> {
    private final CompletableFuture<T> result = new CompletableFuture<>();
    private final Environment environment;
    private final CompletableFuture<Permit> acquired;
    private final Function<? super Permit, ? extends CompletionStage<T>> task;

    AsyncTask(
            Environment environment,
            CompletableFuture<Permit> acquired,
            Function<? super Permit, ? extends CompletionStage<T>> task) {
        this.environment = environment;
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
                environment.execute(() -> environment.callBack(() -> run(permit)));
            } else {
                result.completeExceptionally(failure);
            }
        });
        return result;
    }

    @SuppressWarnings("FutureReturnValueIgnored") // the action does not throw
    private void run(Permit permit) {
        if (result.isDone()) {
            permit.close();
            return;
        }
        CompletionStage<T> stage;
        try {
            stage = task.apply(permit);
        } catch (RuntimeException | Error e) {
            finish(permit, null, e);
            return;
        }
        if (stage == null) {
            finish(permit, null, new NullPointerException("The task returned no stage"));
            return;
        }
        // The stage may complete on a thread that must not block.
        stage.whenComplete((value, failure) -> environment.execute(() -> finish(permit, value, failure)));
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
