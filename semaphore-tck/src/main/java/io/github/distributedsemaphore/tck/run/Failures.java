package io.github.distributedsemaphore.tck.run;

import org.jspecify.annotations.Nullable;
import org.opentest4j.TestAbortedException;

/** Runs steps of a clean-up, each whatever the others do. Not thread-safe. */
public final class Failures {
    private @Nullable Throwable first;

    public void collect(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            if (first == null) {
                first = e;
            } else if (first instanceof TestAbortedException && !(e instanceof TestAbortedException)) {
                // A test that failed is not to be reported as one that could not be judged.
                e.addSuppressed(first);
                first = e;
            } else {
                first.addSuppressed(e);
            }
        }
    }

    public void rethrow() {
        if (first instanceof Error error) {
            throw error;
        }
        if (first instanceof RuntimeException exception) {
            throw exception;
        }
    }
}
