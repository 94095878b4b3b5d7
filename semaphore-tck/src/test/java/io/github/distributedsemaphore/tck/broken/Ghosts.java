package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.tck.broken.Bent.Call;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** What wrong ports do instead of what was asked. */
@SuppressWarnings({"FutureReturnValueIgnored", "CheckReturnValue"}) // what is wrong with them is the point
final class Ghosts {
    private Ghosts() {}

    /** Asks for a permit on behalf of nobody. */
    static void haunt(Call call) {
        call.target(DistributedSemaphore.class).acquireAsync();
    }

    /** Does what blocks on another thread, so that the caller hears of it when a permit is there. */
    static void later(Runnable task) {
        later("tck-broken", task);
    }

    static void later(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Runs what comes, one after the other, until nothing came for a while. */
    static void runAll(BlockingQueue<Runnable> tasks) {
        try {
            for (Runnable task = tasks.poll(10, TimeUnit.SECONDS);
                    task != null;
                    task = tasks.poll(10, TimeUnit.SECONDS)) {
                run(task);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void run(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException e) {
            // A listener that throws on purpose.
        }
    }

    /** Polls as many implementations do: no queue, first come is whoever looks first. */
    static Permit poll(DistributedSemaphore semaphore) throws InterruptedException {
        while (true) {
            Optional<Permit> permit = semaphore.tryAcquire();
            if (permit.isPresent()) {
                return permit.get();
            }
            Thread.sleep(1 + ThreadLocalRandom.current().nextInt(8));
        }
    }

    /** A future that follows another, but does not pass a cancellation on to it. */
    static <T> CompletableFuture<T> copy(CompletableFuture<T> future) {
        return future.thenApply(result -> result);
    }

    /** A future that follows another on one thread for all. */
    static <T> CompletableFuture<T> copy(CompletableFuture<T> future, Executor thread) {
        CompletableFuture<T> copy = new CompletableFuture<>();
        future.whenCompleteAsync(
                (result, failure) -> {
                    if (failure == null) {
                        copy.complete(result);
                    } else {
                        copy.completeExceptionally(
                                failure instanceof CompletionException && failure.getCause() != null
                                        ? failure.getCause()
                                        : failure);
                    }
                },
                thread);
        return copy;
    }

    /** Sleeps, and is over early if somebody interrupts. */
    static void pause(long millis) {
        linger(Duration.ofMillis(millis));
    }

    static void linger(Duration time) {
        try {
            Thread.sleep(time.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
