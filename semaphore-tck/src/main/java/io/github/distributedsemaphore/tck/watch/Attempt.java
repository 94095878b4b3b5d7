package io.github.distributedsemaphore.tck.watch;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * A call that meets a fault: it has to end in time, with a result or as unavailable or of unknown outcome, and in no other
 * way. It runs in a thread of its own, so that one that hangs is found.
 *
 * @param <T> what it returns
 */
public final class Attempt<T> {
    private final TckFixture tck;
    private final String what;
    private final Task<Ending<T>> task;
    private final long begun = System.nanoTime();

    private record Ending<T>(@Nullable T value, @Nullable SemaphoreException failure) {}

    private Attempt(TckFixture tck, String what, Callable<T> call) {
        this.tck = tck;
        this.what = what;
        this.task = tck.spawn(what, () -> {
            try {
                return new Ending<>(call.call(), null);
            } catch (BackendUnavailableException | OutcomeUnknownException e) {
                return new Ending<>(null, e);
            }
        });
    }

    /** Starts a call. */
    public static <T> Attempt<T> of(TckFixture tck, String what, Callable<T> call) {
        return new Attempt<>(tck, what, call);
    }

    /** Waits for the end, which must come within the operation bound. */
    public Attempt<T> ended() {
        return endedWithin(tck.guarantees().callBound());
    }

    /** Waits for the end, which must come within a bound that is multiplied by the time-out factor. */
    public Attempt<T> endedWithin(Duration bound) {
        String ends = what + " ends within " + bound + " although the backend does not answer";
        tck.await(ends, bound, begun, task::isDone);
        return this;
    }

    /** Waits until the call seems to wait for something. */
    public void awaitBlocked() {
        task.awaitBlocked();
    }

    /** Returns whether the call has ended. */
    public boolean isDone() {
        return task.isDone();
    }

    /** Returns how long ago the call was made, in nanoseconds. */
    public long nanos() {
        return System.nanoTime() - begun;
    }

    /** Returns whether the call, which must have ended, failed. */
    public boolean failed() {
        return task.result().failure() != null;
    }

    /** Returns whether the call, which must have ended, failed with the word that nothing was changed. */
    public boolean certainlyChangedNothing() {
        return task.result().failure() instanceof BackendUnavailableException;
    }

    /** Returns the failure of a call that must fail, and that says what it was about. */
    public SemaphoreException failure(String semaphore) {
        SemaphoreException failure = task.result().failure();
        if (failure == null) {
            throw new AssertionError(what + " returned " + task.result().value()
                    + " where the backend is out of reach, so nobody can know");
        }
        if (!String.valueOf(failure.getMessage()).contains(semaphore)) {
            throw new AssertionError(
                    what + " failed without naming semaphore '" + semaphore + "': " + failure, failure);
        }
        if (!semaphore.isEmpty()) {
            assertThat(failure.semaphore())
                    .as("the semaphore that %s says it is about", failure)
                    .contains(semaphore);
        }
        return failure;
    }

    /** Returns the result of a call that has not failed. */
    public T value() {
        Ending<T> ending = task.result();
        T value = ending.value();
        if (value == null) {
            throw new AssertionError(what + " failed: " + ending.failure(), ending.failure());
        }
        return value;
    }

    @Override
    public String toString() {
        return what + " ended with " + task.result();
    }
}
