package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** What a test took, and how it is ended: tasks, agents, clients, semaphores, and then the look for leftovers. */
final class FixtureResources {
    private final TckRun run;
    private final TckTiming timing;
    private final List<Task<?>> tasks = new ArrayList<>();
    private final List<Agent> agents = new ArrayList<>();
    private final List<SemaphoreClient> clients = new ArrayList<>();
    private final List<TcpProxy> proxies = new ArrayList<>();
    private final Set<String> names = new LinkedHashSet<>();

    FixtureResources(TckRun run, TckTiming timing) {
        this.run = run;
        this.timing = timing;
    }

    synchronized <T> Task<T> own(Task<T> task) {
        tasks.add(task);
        return task;
    }

    synchronized Agent own(Agent agent) {
        agents.add(agent);
        return agent;
    }

    synchronized SemaphoreClient own(SemaphoreClient client) {
        clients.add(client);
        return client;
    }

    synchronized TcpProxy own(TcpProxy proxy) {
        proxies.add(proxy);
        return proxy;
    }

    synchronized void created(String name) {
        names.add(name);
    }

    /** Ends everything, however much of it fails, and throws what failed first with the rest suppressed. */
    synchronized void finish(boolean failedAlready) {
        Failures failures = new Failures();
        proxies.forEach(proxy -> failures.collect(proxy::heal));
        tasks.forEach(task -> failures.collect(() -> task.finish(failedAlready)));
        agents.forEach(agent -> failures.collect(agent::close));
        clients.forEach(client -> failures.collect(client::close));
        proxies.forEach(proxy -> failures.collect(proxy::close));
        names.forEach(name -> failures.collect(() -> run.janitor().destroy(name)));
        if (!failedAlready) {
            failures.collect(() -> run.hygiene().assertClean(timing, names));
        }
        failures.rethrow();
    }
}
