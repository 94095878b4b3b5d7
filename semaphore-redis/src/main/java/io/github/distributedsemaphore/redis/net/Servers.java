package io.github.distributedsemaphore.redis.net;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/** Which of the servers that a URI means has the keys of a semaphore. Thread-safe; nothing here blocks. */
public interface Servers {
    /** The server that has a key, which may be any of the keys of a semaphore. */
    CompletableFuture<HostAndPort> serverOf(String key);

    /** This server could not be reached: what is known of it is forgotten, and asked again. */
    void forget(HostAndPort server);

    /**
     * Tells whether an error means that another server is to be asked, and remembers what it says about which.
     *
     * @param error what a server answered
     * @param from which one
     */
    boolean isElsewhere(String error, HostAndPort from);

    /** Whether the server has to be the master, which a server that is asked for the first time says. */
    boolean areReplicated();

    /**
     * Asks several servers that should know the same, all at once: one that does not answer must not hold up the others.
     *
     * @return the first answer; if there is none, the failure that came last
     */
    static <T> CompletableFuture<T> firstAnswer(
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

    /** A server that stands alone. */
    record Single(HostAndPort server) implements Servers {
        @Override
        public CompletableFuture<HostAndPort> serverOf(String key) {
            return CompletableFuture.completedFuture(server);
        }

        @Override
        public void forget(HostAndPort unreachable) {
            // There is no other.
        }

        @Override
        public boolean isElsewhere(String error, HostAndPort from) {
            return false;
        }

        @Override
        public boolean areReplicated() {
            return false;
        }
    }
}
