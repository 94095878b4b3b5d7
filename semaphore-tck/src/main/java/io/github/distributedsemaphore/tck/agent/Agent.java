package io.github.distributedsemaphore.tck.agent;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.Workload;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A client in a JVM of its own, which can be killed, stopped and resumed. Each of these faults proves that it happened.
 * What the port throws over there arrives as {@link AgentException}. Instants are on the scale of {@link System#nanoTime} of
 * this JVM: on Linux both read one clock, which is checked at the start. Thread-safe.
 */
public final class Agent implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration FOR_EVER = Duration.ofHours(1);

    private final AgentProcess process;

    Agent(AgentProcess process) {
        this.process = process;
    }

    void connect(String uri, ClientSpec spec) {
        call("connect", AgentJson.connect(uri, spec));
    }

    /** Shows that both JVMs read one clock: what the other reads lies between two readings here. */
    void checkClock() {
        for (int i = 0; i < 3; i++) {
            long before = System.nanoTime();
            long there = call("ping", new JsonObject()).get("now").getAsLong();
            long after = System.nanoTime();
            if (there < before || there > after) {
                throw new AssertionError("the clock of agent " + pid() + " reads " + there + " between " + before
                        + " and " + after + " here: the instants of two processes cannot be compared on this system");
            }
        }
    }

    /**
     * Creates a semaphore.
     *
     * @param name its name
     * @param limit its limit
     * @return true if this call created it
     */
    public boolean create(String name, int limit) {
        JsonObject request = AgentJson.named(name);
        request.addProperty("limit", limit);
        return call("create", request).get("created").getAsBoolean();
    }

    /**
     * Changes a limit.
     *
     * @param name the semaphore
     * @param limit its new limit
     */
    public void resize(String name, int limit) {
        JsonObject request = AgentJson.named(name);
        request.addProperty("limit", limit);
        call("resize", request);
    }

    /**
     * Takes permits, waiting for them.
     *
     * @param name the semaphore
     * @param count how many
     * @param maxWait the longest wait
     * @return the permits, or empty if none were granted in time
     */
    public Optional<AgentPermits> acquire(String name, int count, Duration maxWait) {
        return get(acquiring(name, count, maxWait), atMost(maxWait).plus(PATIENCE));
    }

    /**
     * Starts to take permits, waiting for them in the agent while this thread goes on.
     *
     * @param name the semaphore
     * @param count how many
     * @param maxWait the longest wait
     * @return completes with the permits, or empty if none were granted in time
     */
    public CompletableFuture<Optional<AgentPermits>> acquiring(String name, int count, Duration maxWait) {
        JsonObject request = AgentJson.named(name);
        request.addProperty("count", count);
        request.addProperty("wait", atMost(maxWait).toNanos());
        return process.send("acquire", request).thenApply(AgentJson::checked).thenApply(AgentJson::permits);
    }

    private static Duration atMost(Duration maxWait) {
        return maxWait.compareTo(FOR_EVER) > 0 ? FOR_EVER : maxWait;
    }

    /**
     * Takes a permit that must be free.
     *
     * @param name the semaphore
     * @return the permit
     */
    public AgentPermits take(String name) {
        return tryAcquire(name)
                .orElseThrow(() -> new AssertionError(
                        "agent " + pid() + " was refused a permit of '" + name + "', which must be free"));
    }

    /**
     * Takes a permit if one is free.
     *
     * @param name the semaphore
     * @return the permit, or empty
     */
    public Optional<AgentPermits> tryAcquire(String name) {
        JsonObject request = AgentJson.named(name);
        request.addProperty("count", 1);
        return AgentJson.permits(call("acquire", request));
    }

    /**
     * Releases permits.
     *
     * @param permits the permits
     * @return what was found, for each
     */
    public List<ReleaseOutcome> release(AgentPermits permits) {
        return AgentJson.list(
                call("release", AgentJson.about(permits)),
                "outcomes",
                text -> ReleaseOutcome.valueOf(text.getAsString()));
    }

    /**
     * Asks the backend.
     *
     * @param permits the permits
     * @return what it says of the first
     */
    public Verification verify(AgentPermits permits) {
        return Verification.valueOf(
                call("verify", AgentJson.about(permits)).get("verification").getAsString());
    }

    /**
     * What permits in an agent say about themselves.
     *
     * @param valid whether all of them say now that they are valid
     * @param lastValid the last instant at which all of them were seen to say so; {@link Long#MIN_VALUE} if none
     * @param losses when losses were reported
     */
    public record State(boolean valid, long lastValid, List<Long> losses) {
        /**
         * Keeps an unmodifiable copy.
         *
         * @param valid see the record
         * @param lastValid see the record
         * @param losses see the record
         */
        public State {
            losses = List.copyOf(losses);
        }
    }

    /**
     * Asks locally.
     *
     * @param permits the permits
     * @return what they say about themselves
     */
    public State state(AgentPermits permits) {
        return AgentJson.GSON.fromJson(call("state", AgentJson.about(permits)), State.class);
    }

    /**
     * Starts a workload in the agent.
     *
     * @param name the semaphore
     * @param workload the workload
     * @param prefix what the names of its processes begin with, different for each agent
     * @return completes with what happened
     */
    public CompletableFuture<History> contend(String name, Workload workload, String prefix) {
        JsonObject request = AgentJson.named(name);
        request.addProperty("prefix", prefix);
        request.add("workload", AgentJson.GSON.toJsonTree(workload));
        return process.send("workload", request)
                .thenApply(AgentJson::checked)
                .thenApply(answer -> History.parse(AgentJson.list(answer, "history", JsonElement::getAsString)));
    }

    /**
     * Starts an {@link io.github.distributedsemaphore.tck.history.Endurance} in the agent.
     *
     * @param name the semaphore
     * @param prefix what the names of its processes begin with, different for each agent
     * @param brief how many threads hold for milliseconds
     * @param lasting how many threads hold for seconds
     * @param seed where the random choices come from
     */
    public void endure(String name, String prefix, int brief, int lasting, long seed) {
        JsonObject request = AgentJson.named(name);
        request.addProperty("prefix", prefix);
        request.addProperty("brief", brief);
        request.addProperty("lasting", lasting);
        request.addProperty("seed", seed);
        call("endure", request);
    }

    /**
     * Ends what {@link #endure} began.
     *
     * @return what happened, without the limit
     */
    public History endEnduring() {
        return History.parse(
                AgentJson.list(call("endEnduring", new JsonObject()), "history", JsonElement::getAsString));
    }

    /**
     * Has the agent resize a semaphore to and fro, until it is killed.
     *
     * @param name the semaphore
     * @param low one limit
     * @param high the other
     * @return completes exceptionally when the agent ends
     */
    public CompletableFuture<?> resizeForEver(String name, int low, int high) {
        JsonObject request = AgentJson.named(name);
        request.addProperty("low", low);
        request.addProperty("high", high);
        return process.send("resizeForEver", request).thenApply(AgentJson::checked);
    }

    /**
     * Asks the backend through the agent.
     *
     * @param name the semaphore
     * @return how many permits are free
     */
    public int availablePermits(String name) {
        return call("free", AgentJson.named(name)).get("free").getAsInt();
    }

    /** Has the agent measure from now on for how long its JVM stands still. */
    public void watchTime() {
        call("watchTime", new JsonObject());
    }

    /**
     * Says for how long the agent's JVM stood still, after {@link #watchTime}.
     *
     * @param from since when
     * @param to until when; this has passed
     * @return the nanoseconds
     */
    public long stoodStill(long from, long to) {
        JsonObject request = new JsonObject();
        request.addProperty("from", from);
        request.addProperty("to", to);
        return call("stoodStill", request).get("nanos").getAsLong();
    }

    /** Closes the client over there in order; the JVM goes on. */
    public void closeClient() {
        call("close", new JsonObject());
    }

    /**
     * Has the main method of the agent return without closing the client, and waits for the JVM to end by itself.
     *
     * @param patience the longest wait
     * @return the exit status, 0 if nothing kept it or went wrong
     */
    public int forgetAndEnd(Duration patience) {
        process.tell("forget");
        return process.awaitEnd(patience);
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

    private JsonObject call(String command, JsonObject request) {
        return AgentJson.checked(get(process.send(command, request), PATIENCE));
    }

    private <T> T get(CompletableFuture<T> future, Duration patience) {
        try {
            return future.get(patience.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof AgentException thrown) {
                throw thrown;
            }
            throw new AssertionError("agent " + pid() + ": " + e.getCause() + " " + process.complaints(), e.getCause());
        } catch (TimeoutException e) {
            throw new AssertionError("agent " + pid() + " has not answered within " + patience, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}
