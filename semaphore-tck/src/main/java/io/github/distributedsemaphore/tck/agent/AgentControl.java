package io.github.distributedsemaphore.tck.agent;

import java.time.Duration;

/** What can be done to the process of an {@link Agent}. Each of these faults proves that it happened. Thread-safe. */
abstract class AgentControl implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final AgentProcess process;

    AgentControl(AgentProcess process) {
        this.process = process;
    }

    /**
     * Returns the process id.
     *
     * @return the id
     */
    public long pid() {
        return process.pid();
    }

    /** Kills the process with SIGKILL and proves it by its exit status. */
    public void kill9() {
        process.kill9(PATIENCE);
    }

    /** Stops the process with SIGSTOP, and proves by the state of each thread that it stands still. */
    public void stop() {
        if (!Signals.stop(pid())) {
            throw new AssertionError("process " + pid() + " has ended");
        }
    }

    /** Has the process go on. */
    public void resume() {
        Signals.resume(pid());
    }

    /**
     * Tells whether the process lives.
     *
     * @return true if so
     */
    public boolean isAlive() {
        return process.isAlive();
    }

    /** Ends the process, whatever it does. */
    @Override
    public void close() {
        process.end(PATIENCE);
    }
}
