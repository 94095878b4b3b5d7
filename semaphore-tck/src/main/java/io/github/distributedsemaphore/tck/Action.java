package io.github.distributedsemaphore.tck;

/** Something to do that may fail. */
@FunctionalInterface
public interface Action {
    /**
     * Does it.
     *
     * @throws Exception if it fails
     */
    void run() throws Exception;
}
