package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** What a test took, and how it is ended: tasks, agents, clients, semaphores, and then the look for leftovers. */
final class FixtureResources {
    private static final Duration LOOK = Duration.ofSeconds(3);

    /** A backend that does not answer costs a look for each. */
    private static final int MOST_LOOKS = 3;

    private final TckRun run;
    private final TckTiming timing;
    private final List<Task<?>> tasks = new ArrayList<>();
    private final List<Agent> agents = new ArrayList<>();
    private final List<SemaphoreClient> clients = new ArrayList<>();
    private final List<TcpProxy> proxies = new ArrayList<>();
    private final Set<String> names = new LinkedHashSet<>();
    private volatile String lastException = "";

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

    /** Called with each exception that a call of a client threw; most of them are what the test wants. */
    void threw(String call, Throwable exception) {
        lastException = call + " threw " + exception;
    }

    /** What is to be known when a test fails: its first semaphores as a fresh client sees them, and the last exception of a call. */
    String situation() {
        List<String> some;
        synchronized (this) {
            some = names.stream().limit(MOST_LOOKS).toList();
        }
        StringBuilder text = new StringBuilder();
        for (String name : some) {
            text.append("\n  now: ").append(looked(name));
        }
        return text.append(lastException.isEmpty() ? "" : "\n  last exception of a call: " + lastException)
                .toString();
    }

    /** On a thread of its own: the backend may be the one that does not answer. */
    private String looked(String name) {
        Task<String> look = new Task<>("look at '" + name + "'", LOOK, () -> {
            try (SemaphoreClient fresh = run.harness().connect(ClientSpec.plain())) {
                return fresh.admin()
                        .describe(name)
                        .map(FixtureResources::text)
                        .orElse("there is no semaphore '" + name + "'");
            }
        });
        try {
            return look.result();
        } catch (AssertionError e) {
            return "'" + name + "' cannot be looked at: "
                    + String.valueOf(e.getMessage()).lines().findFirst().orElse("");
        }
    }

    private static String text(SemaphoreDescription found) {
        String holders = found.holders().stream()
                .map(holder -> "slot " + holder.slot() + " (epoch " + holder.epoch() + ") " + holder.state() + " by '"
                        + holder.label() + "', process " + holder.pid() + " on " + holder.host())
                .collect(Collectors.joining("; "));
        return "'" + found.name() + "' has limit " + found.limit() + " and " + found.free() + " free"
                + (holders.isEmpty() ? ", and no holders" : ": " + holders);
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
