package io.github.distributedsemaphore.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/** Asks several servers that should know the same, all at once: one that does not answer must not hold up the others. */
final class FirstAnswer {
    private FirstAnswer() {}

    /** The first answer that is none of failure; if there is no such, the failure that came last. */
    static <T> CompletableFuture<T> of(
            List<HostAndPort> servers, Function<HostAndPort, CompletableFuture<T>> question) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        AtomicInteger open = new AtomicInteger(servers.size());
        for (HostAndPort server : servers) {
            Future<?> unused = question.apply(server).whenComplete((said, failure) -> {
                if (failure == null) {
                    answer.complete(said);
                } else if (open.decrementAndGet() == 0) {
                    answer.completeExceptionally(
                            failure instanceof CompletionException && failure.getCause() != null
                                    ? failure.getCause()
                                    : failure);
                }
            });
        }
        return answer;
    }
}
