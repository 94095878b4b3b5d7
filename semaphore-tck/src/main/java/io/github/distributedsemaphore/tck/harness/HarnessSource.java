package io.github.distributedsemaphore.tck.harness;

/** What supplies the harness: the adapter's test class. */
@FunctionalInterface
public interface HarnessSource {
    /**
     * Makes the harness. Called once per run of the test class; the kit closes it at the end.
     *
     * @return a new harness
     */
    SemaphoreTckHarness harness();
}
