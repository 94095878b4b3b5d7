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
        if (!tck.full() && wait.compareTo(QUICK) > 0) {
            throw new TestAbortedException(
                    "takes " + wait.toMillis() + " ms with these bounds: too long for tck.mode=quick");
        }
    }
}
