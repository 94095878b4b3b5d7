package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.spi.support.HostAndPort;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiPredicate;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Which of the servers that a URI means has the keys of a semaphore. Thread-safe; nothing here blocks. */
public interface Servers {
    /** The server that has a key, which may be any of the keys of a semaphore. */
    CompletableFuture<HostAndPort> serverOf(String key);

    /** This server could not be reached: what is known of it is forgotten, and asked again. One that stands alone has no other. */
    default void forget(HostAndPort server) {}

    /**
     * Tells whether an error means that another server is to be asked, and remembers what it says about which.
     *
     * @param error what a server answered
     * @param from which one
     */
    default boolean isElsewhere(String error, HostAndPort from) {
        return false;
    }

    /**
     * Looks whether another server leads by now, if an error is one that a server gives when it has lost the others. Does not wait, and
     * the error stays what it is. Of one server the name or the proxy may lead to another one by now, if it has become a replica.
     *
     * @param error what a server answered
     * @param from which one
     * @param left is called, on any thread, if connections to that server are to be closed
     */
    default void doubt(String error, HostAndPort from, Runnable left) {
        if (error.startsWith("READONLY") || error.startsWith("MASTERDOWN")) {
            left.run();
        }
    }

    /**
     * Asks several servers that should know the same, all at once: one that does not answer must not hold up the others.
     *
     * @param believed whether the answer of a server is good enough not to wait for another one
     * @return the first answer that is believed; if there is none, another one; if there is none either, the failure that came last
     */
    static <T> CompletableFuture<T> firstAnswer(
            List<HostAndPort> servers,
            Function<HostAndPort, CompletableFuture<T>> question,
            BiPredicate<HostAndPort, T> believed) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        AtomicInteger open = new AtomicInteger(servers.size());
        AtomicReference<@Nullable T> other = new AtomicReference<>();
        for (HostAndPort server : servers) {
            Future<?> unused = question.apply(server).whenComplete((said, failure) -> {
                if (failure == null && believed.test(server, said)) {
                    answer.complete(said);
                    return;
                } else if (failure == null) {
                    other.set(said);
                }
                if (open.decrementAndGet() == 0) {
                    T doubtful = other.get();
                    if (doubtful != null) {
                        answer.complete(doubtful);
                    } else {
                        answer.completeExceptionally(cause(failure));
                    }
                }
            });
        }
        return answer;
    }

    private static Throwable cause(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    }
}
