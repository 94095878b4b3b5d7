package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.broken.Bent.Bend;
import io.github.distributedsemaphore.tck.broken.Bent.Call;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;

/** Wrong futures. */
@SuppressWarnings("FutureReturnValueIgnored") // what is wrong with them is the point
final class BentFutures {
    private BentFutures() {}

    private static boolean asks(Call call) {
        return call.is(DistributedSemaphore.class, "acquireAsync");
    }

    static Bend detached(ProbedServer server) {
        return call -> {
            Object result = call.proceed();
            return asks(call) && result instanceof CompletableFuture<?> future ? Ghosts.copy(future) : result;
        };
    }

    static Bend blocking(ProbedServer server) {
        Set<String> asked = ConcurrentHashMap.newKeySet();
        return call -> {
            if (asks(call) && asked.add(call.target(DistributedSemaphore.class).name())) {
                Ghosts.linger(Duration.ofMillis(1_500));
            }
            return call.proceed();
        };
    }

    static Bend oneThread(ProbedServer server) {
        BlockingQueue<Runnable> completions = new LinkedBlockingQueue<>();
        Set<Boolean> started = ConcurrentHashMap.newKeySet();
        return call -> {
            Object result = call.proceed();
            if (asks(call) && result instanceof CompletableFuture<?> future) {
                if (started.add(true)) {
                    Ghosts.later(() -> Ghosts.runAll(completions));
                }
                return Ghosts.copy(future, completions::add);
            }
            return result;
        };
    }

    static Bend forgotten(ProbedServer server) {
        return call -> {
            Object result = call.proceed();
            return asks(call) && result instanceof CompletableFuture<?> future ? unlessClosed(future) : result;
        };
    }

    private static <T> CompletableFuture<T> unlessClosed(CompletableFuture<T> future) {
        CompletableFuture<T> copy = new CompletableFuture<>();
        future.whenComplete((result, failure) -> {
            if (failure == null) {
                copy.complete(result);
            } else if (!(failure instanceof SemaphoreClosedException)) {
                copy.completeExceptionally(failure);
            }
        });
        return copy;
    }

    static Bend roundedUp(ProbedServer server) {
        return call -> asks(call) && call.has(int.class, Duration.class)
                ? call.proceedWith(
                        call.argumentsWith(1, call.argument(1, Duration.class).plusMillis(300)))
                : call.proceed();
    }

    static Bend endless(ProbedServer server) {
        return call -> asks(call) && call.has(int.class, Duration.class)
                ? call.proceedWith(call.argumentsWith(1, Duration.ofDays(1)))
                : call.proceed();
    }
}
