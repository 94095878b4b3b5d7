package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.Deadline;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Waits for answers that arrive on another thread. */
final class Answers {
    private Answers() {}

    /**
     * Waits until there is an answer, whatever interrupts come; they are handed on.
     *
     * @param end when to give up
     */
    static <T extends @Nullable Object> T await(Future<T> answer, Deadline end)
            throws ExecutionException, TimeoutException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return answer.get(end.nanosFrom(System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
