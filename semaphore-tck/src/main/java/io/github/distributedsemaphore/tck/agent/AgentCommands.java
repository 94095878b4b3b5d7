package io.github.distributedsemaphore.tck.agent;

import static io.github.distributedsemaphore.tck.agent.AgentJson.GSON;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClientBuilder;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.history.Endurance;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.history.ProcessLog;
import io.github.distributedsemaphore.tck.history.Workload;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** What an agent can do. Thread-safe. */
final class AgentCommands {
    /** How long threads may take for the calls that they are in. */
    private static final Duration LAST_CALLS = Duration.ofSeconds(50);

    /** For how long the first call of a JVM is tried. A server that is away for longer is the test's own concern. */
    private static final Duration FIRST_CALL = Duration.ofSeconds(20);

    private final AtomicLong refs = new AtomicLong();
    private final Map<Long, HeldByAgent> held = new ConcurrentHashMap<>();
    private volatile @Nullable SemaphoreClient client;
    private volatile @Nullable Endurance endurance;
    private volatile @Nullable Heartbeat heartbeat;

    void carryOut(String command, JsonObject request, JsonObject answer) throws Exception {
        switch (command) {
            case "ping" -> answer.addProperty("now", System.nanoTime());
            case "connect" -> connect(request);
            case "create" ->
                answer.addProperty(
                        "created",
                        client().admin()
                                .create(
                                        text(request, "name"),
                                        request.get("limit").getAsInt()));
            case "resize" ->
                client().admin()
                        .resize(text(request, "name"), request.get("limit").getAsInt());
            case "resizeForEver" -> resizeForEver(request);
            case "acquire" -> acquire(request, answer);
            case "release" -> release(held(request), answer);
            case "verify" ->
                answer.addProperty(
                        "verification", held(request).permits().get(0).verify().name());
            case "state" -> held(request).describe(answer);
            case "free" ->
                answer.addProperty(
                        "free", client().semaphore(text(request, "name")).availablePermits());
            case "workload" -> workload(request, answer);
            case "endure" -> endure(request);
            case "endEnduring" -> endEnduring(answer);
            case "watchTime" -> watchTime();
            case "stoodStill" ->
                answer.addProperty(
                        "nanos",
                        running(heartbeat)
                                .stoodStill(
                                        request.get("from").getAsLong(),
                                        request.get("to").getAsLong()));
            case "close" -> client().close();
            default -> throw new IllegalArgumentException("unknown command " + command);
        }
    }

    /** An agent may serve more than one test. */
    private synchronized void watchTime() {
        if (heartbeat == null) {
            heartbeat = new Heartbeat();
        }
    }

    private void connect(JsonObject request) throws InterruptedException {
        SemaphoreClientBuilder builder = SemaphoreClient.builder(text(request, "uri"));
        request.getAsJsonObject("settings")
                .entrySet()
                .forEach(setting ->
                        builder.set(setting.getKey(), setting.getValue().getAsString()));
        SemaphoreClient connected = builder.connect();
        load(connected);
        client = connected;
    }

    /**
     * Makes the first call here. It loads a client library and opens a connection, which takes a busy machine longer than a call may
     * take: that says nothing about the backend.
     */
    private static void load(SemaphoreClient connected) throws InterruptedException {
        long end = System.nanoTime() + FIRST_CALL.toNanos();
        while (!answers(connected) && end - System.nanoTime() > 0) {
            // What the call left behind, such as a connection that came too late, serves the next one.
            Thread.sleep(50);
        }
    }

    private static boolean answers(SemaphoreClient connected) {
        try {
            connected.admin().status("tck-nobody-made-it");
            return true;
        } catch (BackendUnavailableException e) {
            return false;
        }
    }

    private void acquire(JsonObject request, JsonObject answer) throws InterruptedException {
        DistributedSemaphore semaphore = client().semaphore(text(request, "name"));
        int count = request.get("count").getAsInt();
        Optional<List<Permit>> permits = request.has("wait")
                ? semaphore
                        .tryAcquire(count, Duration.ofNanos(request.get("wait").getAsLong()))
                        .map(PermitGroup::permits)
                : semaphore.tryAcquire(count).map(PermitGroup::permits);
        long returned = System.nanoTime();
        answer.addProperty("returned", returned);
        if (permits.isPresent()) {
            boolean fencing = client().guarantees().has(Capability.FENCING);
            granted(permits.get(), fencing, returned, answer);
        }
    }

    private void granted(List<Permit> permits, boolean fencing, long returned, JsonObject answer) {
        // First: the process may stand still before the rest, and of a permit that is lost by then nothing is sure.
        long sureUntil = permits.stream()
                .mapToLong(permit -> ProcessLog.sureUntil(permit, returned))
                .min()
                .orElseThrow();
        answer.addProperty("validUntil", sureUntil);
        long ref = refs.incrementAndGet();
        held.put(ref, new HeldByAgent(permits));
        answer.addProperty("ref", ref);
        answer.add("slots", GSON.toJsonTree(permits.stream().map(Permit::slot).toList()));
        answer.add(
                "fences",
                GSON.toJsonTree(fencing ? permits.stream().map(Permit::fence).toList() : List.of()));
    }

    /** Releases all of them, also if the release of one fails. */
    static void release(HeldByAgent permits, JsonObject answer) {
        JsonArray outcomes = new JsonArray();
        try {
            for (Permit permit : permits.permits()) {
                outcomes.add(permit.release().name());
            }
        } finally {
            permits.end();
            permits.permits().stream().skip(outcomes.size()).forEach(Permit::close);
        }
        answer.add("outcomes", outcomes);
    }

    /** Two limits in turn, until somebody kills the process in the middle of it. */
    private void resizeForEver(JsonObject request) {
        String name = text(request, "name");
        while (true) {
            client().admin().resize(name, request.get("low").getAsInt());
            client().admin().resize(name, request.get("high").getAsInt());
        }
    }

    private void workload(JsonObject request, JsonObject answer) {
        Workload workload = GSON.fromJson(request.get("workload"), Workload.class);
        HistoryRecorder recorder = new HistoryRecorder(
                text(request, "prefix"), client().guarantees().has(Capability.FENCING));
        answer(workload.run(List.of(client().semaphore(text(request, "name"))), recorder), answer);
    }

    private static void answer(History history, JsonObject answer) {
        answer.add("history", GSON.toJsonTree(history.lines()));
    }

    private void endure(JsonObject request) {
        HistoryRecorder recorder = new HistoryRecorder(
                text(request, "prefix"), client().guarantees().has(Capability.FENCING));
        endurance = new Endurance(
                client().semaphore(text(request, "name")),
                recorder,
                request.get("brief").getAsInt(),
                request.get("lasting").getAsInt(),
                request.get("seed").getAsLong());
    }

    private void endEnduring(JsonObject answer) throws InterruptedException {
        answer(running(endurance).end(0, LAST_CALLS), answer);
    }

    private HeldByAgent held(JsonObject request) {
        HeldByAgent permits = held.get(request.get("ref").getAsLong());
        if (permits == null) {
            throw new IllegalArgumentException("no permits " + request.get("ref"));
        }
        return permits;
    }

    private SemaphoreClient client() {
        return running(client);
    }

    private static <T> T running(@Nullable T begun) {
        if (begun == null) {
            throw new IllegalStateException("a command came before the one that begins what it needs");
        }
        return begun;
    }

    private static String text(JsonObject request, String name) {
        return request.get(name).getAsString();
    }
}
