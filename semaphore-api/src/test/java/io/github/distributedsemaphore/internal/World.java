package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.memory.Link;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What a simulated play goes on in: a server, its clients, and what may go wrong, all drawn from the seed. */
final class World {
    static final String NAME = "simulated";
    static final Duration LEASE = Duration.ofSeconds(3);

    final SimulatedEnvironment environment;
    final Random random;
    final int limit;
    final Oracle oracle;
    final MemoryServer server;
    final BackendAdmin operator;
    final List<SemaphoreClient> clients = new ArrayList<>();
    final List<MemoryBackend> backends = new ArrayList<>();

    /** Requests and answers are lost or late. */
    final boolean faults;

    /** Whoever can run does so before time passes: no timer is late, and without faults nothing is lost. */
    final boolean punctual;

    final boolean destruction;
    final boolean resizes;

    /** The first client is closed or aborted. */
    final boolean closing;

    /** The last client dies without a word. */
    final boolean crash;

    /** The server takes slots and ends sessions. */
    final boolean revocations;

    /** From now on nothing goes wrong. */
    boolean calm;

    /** Players that have not ended. */
    int playing;

    /** To be woken when they have. */
    @Nullable
    Thread director;

    /** Players that wait for permits without a limit of time. */
    int waiting;

    World(long seed) {
        environment = new SimulatedEnvironment(seed);
        random = environment.chance();
        limit = 1 + random.nextInt(3);
        oracle = new Oracle(limit);
        server = new MemoryServer(environment::nanoTime, LEASE, MemoryServer.ALL, Runnable::run);
        operator = new MemoryBackend(server, new HolderInfo("operator", 0, "")).admin();
        faults = random.nextInt(3) == 0;
        punctual = !faults && random.nextBoolean();
        destruction = random.nextInt(8) == 0;
        resizes = random.nextInt(4) == 0;
        closing = random.nextInt(4) == 0;
        crash = random.nextInt(8) == 0;
        revocations = random.nextInt(4) == 0;
        if (punctual) {
            environment.calm();
        }
    }

    /** Whether a permit can only end by its release. */
    boolean isSafe() {
        return punctual && !closing && !crash && !revocations;
    }

    SemaphoreClient addClient() {
        boolean starts = random.nextBoolean();
        MemoryBackend backend =
                new MemoryBackend(
                        server, new HolderInfo("host", clients.size(), ""), Link.with(this::before, this::after)) {
                    @Override
                    protected @Nullable Executor network() {
                        return starts ? environment::execute : null;
                    }
                };
        BackendUri uri = BackendUri.parse("memory:");
        uri.set("handOffs", Integer.toString(random.nextInt(4)));
        uri.set("handOffTime", random.nextBoolean() ? "10ms" : "1s");
        uri.set("recheck", random.nextBoolean() ? "1s" : "1m");
        uri.set("outagePatience", List.of("0s", "100ms", "30s").get(random.nextInt(3)));
        SemaphoreClient client = new EngineClient(backend, ClientSettings.from(uri, backend), environment);
        backends.add(backend);
        clients.add(client);
        return client;
    }

    private void before(String what) {
        environment.checkpoint();
        fault(() -> new BackendUnavailableException("the request was lost", null));
    }

    private void after(String what) {
        environment.checkpoint();
        fault(() -> what.equals("exchange") || what.equals("resolve")
                ? new OutcomeUnknownException("the answer was lost", null)
                : new BackendUnavailableException("the answer was lost", null));
    }

    private void fault(Supplier<RuntimeException> failure) {
        if (!faults || calm) {
            return;
        }
        switch (random.nextInt(20)) {
            case 0 -> throw failure.get();
            case 1 -> environment.sleep(random.nextInt(1_000_000_000));
            case 2 -> environment.sleep(random.nextInt(10_000_000));
            default -> {}
        }
    }
}
