package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** One call to the administration of a semaphore. For one thread. */
final class AdminOperation {
    private final SharedSemaphore shared;
    private final Call call;
    private boolean changes;

    private AdminOperation(SharedSemaphore shared, Call call) {
        this.shared = shared;
        this.call = call;
    }

    /** What a call does. */
    @FunctionalInterface
    interface Body<T> {
        T run(AdminOperation operation) throws IOException;
    }

    /** What a call does under the mutex. */
    @FunctionalInterface
    interface Step<T> {
        T run() throws IOException;
    }

    static <T> T run(StateDirectory state, String name, Duration timeout, Body<T> body) {
        SharedSemaphore shared = state.use(name);
        try (Call call = Call.within(timeout)) {
            AdminOperation operation = new AdminOperation(shared, call);
            try {
                state.requireFormat(call);
                return body.run(operation);
            } catch (IncompatibleStateException e) {
                throw Failures.of(operation.subject(state), e);
            } catch (IOException e) {
                throw operation.failure(operation.subject(state), e);
            }
        } finally {
            state.release(shared);
        }
    }

    private String subject(StateDirectory state) {
        return "Semaphore '" + shared.name() + "' in " + state.path();
    }

    private RuntimeException failure(String subject, IOException e) {
        return changes
                ? new OutcomeUnknownException(subject + ": broken off half-way, repeat the call: " + e, e)
                : Failures.of(subject, e);
    }

    /** Runs a step under the semaphore's mutex; empty if the semaphore has no directory. */
    <T> Optional<T> underMutex(Step<T> step) throws IOException {
        if (!shared.enter(call)) {
            return Optional.empty();
        }
        try {
            return Optional.of(step.run());
        } finally {
            shared.leave();
        }
    }

    /** Notes that from here on the call leaves traces. */
    void changes() {
        changes = true;
    }

    /** Wakes the waiters of this process; those of others see the limit's file change. */
    void wakeWaiters() {
        shared.wake(this);
    }

    /** Deletes what remains of a semaphore without slots. Under the mutex. */
    void deleteDirectory() throws IOException {
        shared.deleteDirectory();
    }

    String name() {
        return shared.name();
    }

    Path directory() {
        return shared.directory();
    }

    Call call() {
        return call;
    }
}
