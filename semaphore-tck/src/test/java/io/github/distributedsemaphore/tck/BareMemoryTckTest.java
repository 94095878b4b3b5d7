package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import java.util.Set;

/** Where nothing is declared the kit shows that it is absent, and asks for the rest all the same. */
class BareMemoryTckTest extends SemaphoreTck {
    @Override
    public SemaphoreTckHarness harness() {
        return new MemoryHarness(Set.of());
    }
}
