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

    /**
     * Says in how many JVMs the sections of the kit run side by side. Where detection takes long, the kit mostly waits, and several
     * waits at a time cost nothing. Each JVM makes a harness of its own: its server, or its part of one, is not that of the others.
     *
     * @return how many; 1, which is the default, runs them in the JVM of the tests
     */
    default int jvms() {
        return 1;
    }
}
