package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClientBuilder;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.harness.Accounts;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/** The kit's harness for the backend in memory. What is wrong on purpose overrides a piece of it. */
public class MemoryHarness implements SemaphoreTckHarness {
    private final ProbedServer server;
    private final List<SemaphoreClient> clients = new CopyOnWriteArrayList<>();

    public MemoryHarness(Set<Capability> capabilities) {
        // A machine under load now and then stands still for most of a second: that is not to be a lost lease.
        this(new ProbedServer(Duration.ofSeconds(2), capabilities));
    }

    public MemoryHarness(ProbedServer server) {
        this.server = server;
    }

    /** Returns the server that all clients share. */
    public final ProbedServer server() {
        return server;
    }

    @Override
    public SemaphoreClient connect(ClientSpec spec) {
        return connect(spec, self -> new MemoryBackend(server, self));
    }

    /** Connects a client over a backend of any kind. */
    protected final SemaphoreClient connect(ClientSpec spec, Function<HolderInfo, MemoryBackend> kind) {
        HolderInfo self = HolderInfo.ofThisProcess(spec.label());
        SemaphoreClientBuilder builder = SemaphoreClient.builder(backend(kind.apply(self)));
        wanted(spec).settings().forEach(builder::set);
        spec.callbacks().ifPresent(builder::callbackExecutor);
        SemaphoreClient client = configured(builder).connect();
        clients.add(client);
        return client(client);
    }

    /** Puts something around a backend. */
    protected SemaphoreBackend backend(MemoryBackend backend) {
        return backend;
    }

    /** Changes what the kit wants of a client. */
    protected ClientSpec wanted(ClientSpec spec) {
        return spec;
    }

    /** Adds settings. */
    protected SemaphoreClientBuilder configured(SemaphoreClientBuilder builder) {
        return builder;
    }

    /** Puts something around a client. */
    protected SemaphoreClient client(SemaphoreClient client) {
        return client;
    }

    @Override
    public Optional<StateProbe> state() {
        return Optional.of(server.probe());
    }

    /** What stands in for a password. */
    protected String secret() {
        return "planted-6c1f-password";
    }

    /** Says that credentials are wrong. */
    protected String refusal() {
        return "The server refuses the credentials: correct them";
    }

    @Override
    public Optional<Accounts> accounts() {
        return Optional.of(new Accounts() {
            @Override
            public List<String> secrets() {
                return List.of(secret());
            }

            @Override
            public SemaphoreClient connect(ClientSpec spec) {
                return behind("You may not do that: ask for the right", rightsToWork(), spec);
            }

            @Override
            public SemaphoreClient connectWrongly(ClientSpec spec) {
                return behind(refusal(), Set.of(), spec);
            }

            @Override
            public SemaphoreClient connectToLook(ClientSpec spec) {
                return behind("You may look only: ask for the right", rightsToLook(), spec);
            }
        });
    }

    /** The rights of an account that may do all that is needed. */
    protected Set<String> rightsToWork() {
        return Set.of(
                "describe",
                "names",
                "retiredHolders",
                "check",
                "watch",
                "exchange",
                "resolve",
                "renew",
                "create",
                "resize",
                "destroy");
    }

    /** The rights of an account that may only look. */
    protected Set<String> rightsToLook() {
        return Set.of("describe", "names", "retiredHolders", "check", "watch");
    }

    private SemaphoreClient behind(String refusal, Set<String> rights, ClientSpec spec) {
        MemoryBackend backend = new MemoryBackend(server, HolderInfo.ofThisProcess(spec.label()));
        SemaphoreClient client = configured(
                        SemaphoreClient.builder(RefusingBackend.around(backend(backend), refusal, rights)))
                .connect();
        clients.add(client);
        return client(client);
    }

    @Override
    public void close() {
        clients.forEach(SemaphoreClient::close);
    }
}
