package io.github.distributedsemaphore.tck.watch;

import io.github.distributedsemaphore.tck.fixture.TckFixture;
import java.time.Duration;
import org.opentest4j.TestAbortedException;

/** Whether there is time to sit out a declared bound. */
public final class LongHolds {
    private static final Duration QUICK = Duration.ofSeconds(6);

    private LongHolds() {}

    /** Aborts the test where the wait is too long for a quick run: a full run does it. */
    public static void assumeTimeFor(TckFixture tck, Duration wait) {
        if (!hasTimeFor(tck, wait)) {
            throw new TestAbortedException(
                    "takes " + wait.toMillis() + " ms with these bounds: too long for tck.mode=quick");
        }
    }

    /** Whether a run sits out a lease, and with it the renewals of a permit. */
    public static boolean hasTimeForALease(TckFixture tck) {
        return hasTimeFor(tck, tck.scaled(tck.guarantees().detectionMax()));
    }

    private static boolean hasTimeFor(TckFixture tck, Duration wait) {
        return tck.full() || wait.compareTo(QUICK) <= 0;
    }
}
