package io.github.distributedsemaphore.tck.agent;

import io.github.distributedsemaphore.tck.harness.AgentLauncher;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;

/** Keeps JVMs started in advance, because that takes a while. Thread-safe. */
public final class AgentPool implements AutoCloseable {
    private static final int AHEAD = 2;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final AgentLauncher launcher;
    private final Deque<AgentProcess> ready = new ArrayDeque<>();

    /**
     * Creates it. The first JVMs start when an agent is wanted.
     *
     * @param launcher how to start them
     */
    public AgentPool(AgentLauncher launcher) {
        this.launcher = launcher;
    }

    /**
     * Takes an agent that is connected.
     *
     * @param spec what its client is to be like
     * @return the agent; the caller closes it
     */
    public Agent take(ClientSpec spec) {
        AgentProcess process = next();
        Agent agent = new Agent(process);
        try {
            agent.checkClock();
            agent.connect(launcher.uri(), spec);
            return agent;
        } catch (RuntimeException | Error e) {
            agent.close();
            throw e;
        }
    }

    private synchronized AgentProcess next() {
        AgentProcess taken = ready.isEmpty() ? new AgentProcess(launcher) : ready.removeFirst();
        try {
            while (ready.size() < AHEAD) {
                ready.addLast(new AgentProcess(launcher));
            }
        } catch (RuntimeException | Error e) {
            ready.addFirst(taken);
            throw e;
        }
        return taken;
    }

    @Override
    public synchronized void close() {
        ready.forEach(process -> process.end(PATIENCE));
        ready.clear();
    }
}
