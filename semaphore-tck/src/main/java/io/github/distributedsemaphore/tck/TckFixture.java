package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.Capability;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Guarantees;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.history.Workload;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import org.jspecify.annotations.Nullable;

/**
 * What a test of the kit works with: clients, semaphores, threads, waiting and measuring. JUnit passes one to each test
 * method; what a test took through it is ended and checked after the test. Thread-safe.
 */
public final class TckFixture extends TimedFixture {
    private final TckRun run;
    private final FixtureResources resources;
    private final List<String> rules;
    private @Nullable SemaphoreClient home;

    TckFixture(TckRun run, List<String> rules, long seed) {
        super(run.settings(), run.measurements(), seed);
        this.run = run;
        this.rules = rules;
        this.resources = new FixtureResources(run, timing());
    }

    /**
     * Returns the harness.
     *
     * @return the adapter's
     */
    public SemaphoreTckHarness harness() {
        return run.harness();
    }

    /**
     * Returns what the backend declares.
     *
     * @return as a client with default settings says
     */
    public Guarantees guarantees() {
        return run.guarantees();
    }

    /**
     * Tells whether a capability is declared.
     *
     * @param capability the capability
     * @return true if so
     */
    public boolean has(Capability capability) {
        return guarantees().has(capability);
    }

    /**
     * Returns a name in the name space of the run.
     *
     * @return a new one each time
     */
    public String uniqueName() {
        return uniqueName("s");
    }

    /**
     * Returns a name in the name space of the run.
     *
     * @param hint part of it
     * @return a new one each time
     */
    public String uniqueName(String hint) {
        return run.uniqueName(hint);
    }

    /**
     * Connects a client.
     *
     * @return a new one, closed after the test
     */
    public SemaphoreClient client() {
        return client(ClientSpec.plain());
    }

    /**
     * Connects a client with a label.
     *
     * @param label the label
     * @return a new one, closed after the test
     */
    public SemaphoreClient client(String label) {
        return client(ClientSpec.plain().labelled(label));
    }

    /**
     * Connects a client.
     *
     * @param spec what it is to be like
     * @return a new one, closed after the test
     */
    public SemaphoreClient client(ClientSpec spec) {
        return resources.own(run.recorder().recording(run.harness().connect(spec), rules));
    }

    /**
     * Returns the client that the test mainly uses.
     *
     * @return the same one on each call, closed after the test
     */
    public synchronized SemaphoreClient home() {
        SemaphoreClient client = home;
        if (client == null) {
            client = client();
            home = client;
        }
        return client;
    }

    /**
     * Creates a semaphore.
     *
     * @param limit its limit
     * @return its name; it is destroyed after the test
     */
    public String create(int limit) {
        return create(uniqueName(), limit);
    }

    /**
     * Creates a semaphore.
     *
     * @param name its name
     * @param limit its limit
     * @return its name; it is destroyed after the test
     */
    public String create(String name, int limit) {
        created(name);
        home().admin().create(name, limit);
        return name;
    }

    /**
     * Says that a test created a semaphore, or may have.
     *
     * @param name its name; it is destroyed after the test
     * @return the name
     */
    public String created(String name) {
        resources.created(name);
        return name;
    }

    /**
     * Creates a semaphore of a new name.
     *
     * @param limit its limit
     * @return the semaphore of the {@link #home} client
     */
    public DistributedSemaphore semaphore(int limit) {
        return home().semaphore(create(limit));
    }

    /**
     * Takes permits that must be free, one after the other.
     *
     * @param semaphore where
     * @param count how many
     * @return the permits
     */
    public List<Permit> take(DistributedSemaphore semaphore, int count) {
        List<Permit> permits = new ArrayList<>();
        for (int i = 1; i <= count; i++) {
            Optional<Permit> permit = semaphore.tryAcquire();
            if (permit.isEmpty()) {
                throw new AssertionError("semaphore '" + semaphore.name() + "' refused permit " + i + " of " + count
                        + ", which must be free");
            }
            permits.add(permit.get());
        }
        return permits;
    }

    /**
     * Shows that exactly so many permits can be had by a fresh client: that no permit has vanished and none has been
     * added. Waits a moment for permits that are on their way back.
     *
     * @param name the semaphore
     * @param count how many
     */
    public void assertFree(String name, int count) {
        try (SemaphoreClient fresh = run.harness().connect(ClientSpec.plain())) {
            Conservation.assertFree(fresh.semaphore(name), count, patience());
        }
    }

    /**
     * Starts a tracked thread.
     *
     * @param what what it does, for messages
     * @param body what it does
     * @param <T> what it returns
     * @return the task
     */
    public <T> Task<T> spawn(String what, Callable<T> body) {
        return resources.own(new Task<>(what, patience(), body));
    }

    /**
     * Starts a tracked thread.
     *
     * @param what what it does, for messages
     * @param body what it does
     * @return the task; its result says nothing
     */
    public Task<Boolean> spawn(String what, Action body) {
        return spawn(what, () -> {
            body.run();
            return true;
        });
    }

    /**
     * Starts tracked threads that all begin at the same moment.
     *
     * @param what what they do, for messages
     * @param bodies what each does
     * @param <T> what they return
     * @return the tasks, in the same order
     */
    @SafeVarargs
    @SuppressWarnings("varargs")
    public final <T> List<Task<T>> race(String what, Callable<T>... bodies) {
        return race(what, Arrays.asList(bodies));
    }

    /**
     * Starts tracked threads that all begin at the same moment.
     *
     * @param what what they do, for messages
     * @param bodies what each does
     * @param <T> what they return
     * @return the tasks, in the same order
     */
    public <T> List<Task<T>> race(String what, List<Callable<T>> bodies) {
        CyclicBarrier start = new CyclicBarrier(bodies.size());
        List<Task<T>> tasks = new ArrayList<>();
        for (Callable<T> body : bodies) {
            tasks.add(spawn(what + " " + tasks.size(), () -> {
                start.await();
                return body.call();
            }));
        }
        return tasks;
    }

    /**
     * Starts to record a history.
     *
     * @param prefix what the names of its processes begin with
     * @return the recorder
     */
    public HistoryRecorder recorder(String prefix) {
        return new HistoryRecorder(prefix, has(Capability.FENCING));
    }

    /**
     * Runs a workload on clients of its own, checks that its history breaks no rule and that it could have, and that all
     * permits are there afterwards.
     *
     * @param name the semaphore
     * @param clients on how many clients
     * @param workload the workload
     * @return what happened, for more checks
     */
    public History contend(String name, int clients, Workload workload) {
        List<DistributedSemaphore> semaphores = new ArrayList<>();
        for (int i = 0; i < clients; i++) {
            semaphores.add(client().semaphore(name));
        }
        History history = workload.run(semaphores, recorder("p"));
        HistoryChecks.assertValid(history, has(Capability.FENCING), guarantees().detectionMax());
        HistoryChecks.assertCouldHaveFailed(history);
        assertFree(name, workload.limit());
        return history;
    }

    /**
     * Ends the test because the harness lacks a hook: as failed if one of the capabilities is declared and the rule is
     * not listed as unproven, as aborted otherwise.
     *
     * @param hook what the harness lacks
     * @param claimed the capabilities that the test would have shown
     * @return never; to be thrown, so that the compiler knows
     */
    public RuntimeException claimedButMissing(String hook, Capability... claimed) {
        for (Capability capability : claimed) {
            if (has(capability)) {
                String reason = rules.stream()
                        .map(harness().unproven()::get)
                        .filter(text -> text != null)
                        .findFirst()
                        .orElseThrow(() -> new AssertionError(
                                capability + " is claimed but cannot be shown: the harness has no " + hook));
                throw new HookMissingException(hook + "; " + capability + " is declared and unproven: " + reason);
            }
        }
        throw new HookMissingException(hook);
    }

    /**
     * Returns the grip at the stored state.
     *
     * @return the probe; the test ends as aborted if the harness has none
     */
    public StateProbe state() {
        return harness().state().orElseThrow(() -> claimedButMissing("StateProbe"));
    }

    /**
     * Starts another JVM with a client.
     *
     * @return the agent, ended after the test
     */
    public Agent agent() {
        return agent(ClientSpec.plain());
    }

    /**
     * Starts another JVM with a client. Where the harness cannot, the test ends: as failed if {@link
     * Capability#CROSS_PROCESS} is declared, as aborted otherwise.
     *
     * @param spec what its client is to be like
     * @return the agent, ended after the test
     */
    public Agent agent(ClientSpec spec) {
        return resources.own(run.agents()
                .orElseThrow(() -> claimedButMissing("AgentLauncher", Capability.CROSS_PROCESS))
                .take(spec));
    }

    void finish(boolean failedAlready) throws Exception {
        resources.finish(failedAlready);
    }
}
