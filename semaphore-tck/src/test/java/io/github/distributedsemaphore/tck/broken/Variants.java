package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClientBuilder;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemorySemaphore;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.MemoryHarness;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import java.time.Duration;
import java.util.function.Function;
import java.util.function.Supplier;

/** The places where an implementation can be wrong: what is stored, the server, the adapter, or the port itself. */
final class Variants {
    /** Long enough to outlast a test, so that a lease mends nothing. */
    static final Duration LONG = Duration.ofSeconds(30);

    private Variants() {}

    /** Another kind of stored semaphore. */
    static Supplier<SemaphoreTckHarness> stored(Duration lease, Supplier<MemorySemaphore> kind) {
        return served(() -> new ProbedServer(lease, MemoryServer.ALL) {
            @Override
            protected MemorySemaphore newSemaphore() {
                return kind.get();
            }
        });
    }

    /** Another kind of stored semaphore. */
    static Supplier<SemaphoreTckHarness> stored(Supplier<MemorySemaphore> kind) {
        return stored(Duration.ofSeconds(1), kind);
    }

    /** Another server. */
    static Supplier<SemaphoreTckHarness> served(Supplier<ProbedServer> server) {
        return () -> new MemoryHarness(server.get());
    }

    /** Another adapter. */
    static Supplier<SemaphoreTckHarness> spi(Duration lease, Bent.Bend bend) {
        return () -> new HintsOnly(new ProbedServer(lease, MemoryServer.ALL)) {
            @Override
            protected SemaphoreBackend backend(MemoryBackend backend) {
                return Bent.around(SemaphoreBackend.class, backend, bend);
            }
        };
    }

    /** Another port, which knows its server, and is made anew for each run. */
    static Supplier<SemaphoreTckHarness> port(Duration lease, Function<ProbedServer, Bent.Bend> bend) {
        return () -> {
            ProbedServer server = new ProbedServer(lease, MemoryServer.ALL);
            Bent.Bend made = bend.apply(server);
            return new MemoryHarness(server) {
                @Override
                protected SemaphoreClient client(SemaphoreClient client) {
                    return Bent.around(SemaphoreClient.class, client, made);
                }
            };
        };
    }

    /** Hands on for longer than it says. */
    static final class LongHandOff extends MemoryHarness {
        LongHandOff() {
            super(new ProbedServer());
        }

        @Override
        protected SemaphoreClientBuilder configured(SemaphoreClientBuilder builder) {
            return builder.set("handOffTime", "5s");
        }

        @Override
        protected SemaphoreClient client(SemaphoreClient client) {
            return Bent.around(SemaphoreClient.class, client, call -> {
                Object right = call.proceed();
                return right instanceof Guarantees guarantees
                        ? GuaranteesBuilder.from(guarantees)
                                .handOffBound(Duration.ofMillis(10))
                                .build()
                        : right;
            });
        }
    }

    /** Without the engine's timer, which mends a lost hint after a while. */
    static class HintsOnly extends MemoryHarness {
        HintsOnly(ProbedServer server) {
            super(server);
        }

        @Override
        protected ClientSpec wanted(ClientSpec spec) {
            return spec.with("recheck", "60s");
        }
    }
}
