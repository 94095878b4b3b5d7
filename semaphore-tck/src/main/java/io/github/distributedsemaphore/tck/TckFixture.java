package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.history.HistoryWindows;
import io.github.distributedsemaphore.tck.history.Sometimes;
import io.github.distributedsemaphore.tck.history.Violation;
import io.github.distributedsemaphore.tck.history.Workload;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;

/**
 * What a test of the kit works with: clients, semaphores, threads, faults, waiting and measuring. JUnit passes one to each test
 * method; what a test took through it is ended and checked after the test. Thread-safe.
 */
public final class TckFixture extends ClientFixture {
    TckFixture(TckRun run, List<String> rules, long seed) {
        super(run, rules, seed);
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
        return resources().own(new Task<>(what, patience(), body));
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
        judge(history);
        assertFree(name, workload.limit());
        return history;
    }

    /** Checks that a history without faults breaks no rule and that it could have. */
    void judge(History history) {
        expect(Sometimes.underContention());
        reached(history);
        boolean fencing = has(Capability.FENCING);
        Duration detection = guarantees().detectionMax();
        try {
            HistoryChecks.assertValid(history, fencing, detection);
        } catch (AssertionError e) {
            show(
                    "without faults: rule " + String.join(", ", rules()),
                    history,
                    List.of(),
                    HistoryChecks.violations(history, fencing, detection));
            throw new AssertionError(e.getMessage() + "\n" + keep(String.join("-", rules()), history), e);
        }
        HistoryChecks.assertCouldHaveFailed(history);
    }

    /** Keeps what the page of the report shows of a history: all of it in outline, and windows around what matters. */
    void show(String title, History history, List<HistoryWindows.Span> faults, List<Violation> violations) {
        long detection = guarantees().detectionMax().toNanos();
        measure(HistoryWindows.of(title, history, faults, violations, detection));
    }

    /** Writes a history down for whoever wants to know what happened, and says where. */
    String keep(String name, History history) {
        Path file = run().reports().resolve(name + ".history");
        try {
            Files.createDirectories(run().reports());
            Files.write(file, history.lines());
            return "the history is in " + file;
        } catch (IOException e) {
            throw new UncheckedIOException("the history cannot be written to " + file, e);
        }
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
                String reason = rules().stream()
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
     * Returns the access to the stored state.
     *
     * @return the probe; the test ends as aborted if the harness has none
     */
    public StateProbe state() {
        return harness().state().orElseThrow(() -> claimedButMissing("StateProbe"));
    }

    /**
     * Makes a way to the backend on which what passes can be disturbed. Where the harness has no such way, the test ends, and
     * its rules are reported as untested.
     *
     * @return a new one each time; its proxy is closed after the test
     */
    public Route route() {
        return route(harness().link().orElseThrow(() -> missing(2, "ServerAccess")));
    }

    /**
     * Makes a way to a server on which what passes can be disturbed.
     *
     * @param access the server
     * @return a new one each time; its proxy is closed after the test
     */
    public Route route(ServerAccess access) {
        return new Route(this, access, resources().own(new TcpProxy(access.address())));
    }

    /**
     * Returns a server that nobody else uses and that may be stopped. Where the harness has none, the test ends, and its rules
     * are reported as untested.
     *
     * @return the same one in all tests of a run; it runs
     */
    public ServerControl server() {
        return run().server().orElseThrow(() -> missing(3, "ServerControl"));
    }

    /**
     * Returns ways to connect as somebody else. Where the harness has none, the test ends, and its rules are reported as
     * untested.
     *
     * @return the accounts
     */
    public Accounts accounts() {
        return harness().accounts().orElseThrow(() -> missing(5, "Accounts"));
    }

    private HookMissingException missing(int level, String hook) {
        String reason = harness().absent().get(level);
        return new HookMissingException(hook + " (level " + level + ")" + (reason == null ? "" : ": " + reason));
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
        return resources()
                .own(run().agents()
                        .orElseThrow(() -> claimedButMissing("AgentLauncher", Capability.CROSS_PROCESS))
                        .take(spec));
    }

    void finish(boolean failedAlready) throws Exception {
        resources().finish(failedAlready);
    }
}
