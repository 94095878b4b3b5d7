package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * Questions to the backend that are asked on a worker, so that the caller can go on, or leave when its time is over. The
 * question itself ends when the backend lets it end; an answer that nobody waits for any more is dropped.
 */
final class Questions {
    private Questions() {}

    /** Asks on the calling thread. Whatever the backend throws, the caller gets a leaf that names the semaphore. */
    static <T> T now(String name, Supplier<T> question) {
        try {
            return question.get();
        } catch (IllegalArgumentException | UnsupportedOperationException e) {
            throw e;
        } catch (RuntimeException e) {
            throw e instanceof SemaphoreException
                    ? Failures.naming(name, e)
                    : new OutcomeUnknownException("The backend failed at semaphore '" + name + "': " + e, e)
                            .about(name);
        }
    }

    /**
     * The same. If the client was closed meanwhile, the call says so: a connection that its own client closed is no failure of the
     * backend.
     *
     * @param requireOpen throws if the client is closed
     */
    static <T> T now(String name, Runnable requireOpen, Supplier<T> question) {
        try {
            return now(name, question);
        } catch (BackendUnavailableException e) {
            requireOpen.run();
            throw e;
        }
    }

    /** Asks without waiting. The future completes as a callback of the application, so what is chained to it may block. */
    static <T> CompletableFuture<T> ask(Environment environment, Supplier<T> question) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        askFor(environment, answer, question);
        return answer;
    }

    /**
     * Asks for a caller that then waits, see {@link #await}. The future completes on the worker: the executor of the application may be
     * busy, and its only thread may be the caller's.
     */
    static <T> CompletableFuture<T> askToAwait(Environment environment, Supplier<T> question) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        environment.execute(() -> answer(answer, question, Runnable::run));
        return answer;
    }

    /** The same, for a future that the caller has made. */
    static <T> void askFor(Environment environment, CompletableFuture<T> answer, Supplier<T> question) {
        environment.execute(() -> answer(answer, question, environment::callBack));
    }

    private static <T> void answer(CompletableFuture<T> answer, Supplier<T> question, Executor completing) {
        T found;
        try {
            found = question.get();
        } catch (RuntimeException | Error e) {
            completing.execute(() -> answer.completeExceptionally(e));
            return;
        }
        completing.execute(() -> answer.complete(found));
    }

    /**
     * Waits for an answer.
     *
     * @return false if there is none by the deadline
     */
    @SuppressWarnings("FutureReturnValueIgnored") // waking up does not throw
    static boolean await(Environment environment, CompletableFuture<?> answer, Deadline deadline)
            throws InterruptedException {
        Thread caller = Thread.currentThread();
        answer.whenComplete((result, failure) -> environment.unpark(caller));
        while (true) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            if (answer.isDone()) {
                return true;
            }
            long left = deadline.nanosFrom(environment.nanoTime());
            if (left == 0) {
                return false;
            }
            environment.park(answer, left);
        }
    }

    /** What the backend said, or an exception of the caller's own. Only once there is an answer. */
    static <T> T result(CompletableFuture<T> answer) {
        try {
            return answer.join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof RuntimeException failure ? Failures.forCaller(failure) : e;
        }
    }
}
