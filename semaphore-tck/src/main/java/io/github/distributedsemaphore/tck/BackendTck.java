package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The whole kit over whatever {@link KitRunner} was given. */
final class BackendTck extends SemaphoreTck {
    /** JUnit makes the instances, so they find it here. */
    static final AtomicReference<@Nullable SemaphoreTckHarness> SUPPLIED = new AtomicReference<>();

    @Override
    public SemaphoreTckHarness harness() {
        SemaphoreTckHarness harness = SUPPLIED.get();
        if (harness == null) {
            throw new IllegalStateException("this class is run by KitRunner");
        }
        return harness;
    }
}
