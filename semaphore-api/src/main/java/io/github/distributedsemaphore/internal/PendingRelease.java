package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.ReleaseOutcome;
import org.jspecify.annotations.Nullable;

/**
 * A hold on its way back to the backend. It stays pending until the backend confirmed it, also when the caller that
 * released it has ended because this could not be confirmed in time. Guarded by the coordinator's lock; {@link
 * #isReported} may be asked by any thread, and the outcome read once it is reported.
 */
final class PendingRelease {
    private final SlotHold hold;
    private final Runnable wake;
    private volatile boolean reported;
    private ReleaseOutcome outcome = ReleaseOutcome.RELEASED;
    private @Nullable RuntimeException failure;

    PendingRelease(SlotHold hold, Runnable wake) {
        this.hold = hold;
        this.wake = wake;
    }

    SlotHold hold() {
        return hold;
    }

    boolean isReported() {
        return reported;
    }

    void done(ReleaseOutcome found) {
        if (!reported) {
            outcome = found;
            report();
        }
    }

    void failed(RuntimeException cause) {
        if (!reported) {
            failure = cause;
            report();
        }
    }

    private void report() {
        reported = true;
        wake.run();
    }

    /** Only when reported. */
    ReleaseOutcome outcome() {
        if (failure != null) {
            throw Failures.forCaller(failure);
        }
        return outcome;
    }
}
