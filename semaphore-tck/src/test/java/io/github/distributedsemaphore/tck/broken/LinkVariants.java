package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemorySemaphore;
import io.github.distributedsemaphore.memory.ServerSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.LinkedMemoryHarness;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.TcpLink;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;

/** The places where an implementation can be wrong about its link and its server. */
final class LinkVariants {
    private static final Duration LEASE = Duration.ofMillis(700);

    private LinkVariants() {}

    /** What is right but for one piece. */
    static class Harness extends LinkedMemoryHarness {
        private final Supplier<ProbedServer> servers;
        private final Function<InetSocketAddress, TcpLink> links;
        private final Bent.Bend spi;
        private final Bent.Bend port;
        private final String recheck;

        Harness(
                Supplier<ProbedServer> servers,
                Function<InetSocketAddress, TcpLink> links,
                Bent.Bend spi,
                Bent.Bend port,
                String recheck) {
            super(servers.get());
            this.servers = servers;
            this.links = links;
            this.spi = spi;
            this.port = port;
            this.recheck = recheck;
        }

        @Override
        protected ProbedServer newServer() {
            return servers.get();
        }

        @Override
        protected TcpLink link(InetSocketAddress through) {
            return links.apply(through);
        }

        @Override
        protected SemaphoreBackend backend(MemoryBackend backend) {
            return Bent.around(SemaphoreBackend.class, backend, spi);
        }

        @Override
        protected SemaphoreClient client(SemaphoreClient client) {
            return Bent.around(SemaphoreClient.class, client, port);
        }

        @Override
        protected ClientSpec wanted(ClientSpec spec) {
            return recheck.isEmpty() ? spec : spec.with("recheck", recheck);
        }
    }

    private static ProbedServer right() {
        return new ProbedServer(LEASE, LinkedMemoryHarness.ALL);
    }

    /** Nothing is wrong. */
    static Supplier<SemaphoreTckHarness> faultless() {
        return linked(Plain::new);
    }

    private static final class Plain extends TcpLink {
        Plain(InetSocketAddress server) {
            super(server);
        }
    }

    /** Another end of the connection. */
    static Supplier<SemaphoreTckHarness> linked(Function<InetSocketAddress, TcpLink> links) {
        return linked(LinkVariants::right, links);
    }

    /** Another end of the connection, and another server. */
    static Supplier<SemaphoreTckHarness> linked(
            Supplier<ProbedServer> servers, Function<InetSocketAddress, TcpLink> links) {
        return () -> new Harness(servers, links, Bent.Call::proceed, Bent.Call::proceed, "");
    }

    /** Another server. */
    static Supplier<SemaphoreTckHarness> served(Supplier<ProbedServer> servers) {
        return linked(servers, Plain::new);
    }

    /** Another adapter. */
    static Supplier<SemaphoreTckHarness> spi(Bent.Bend bend) {
        return spi(LinkVariants::right, bend);
    }

    /** Another adapter, and another server. */
    static Supplier<SemaphoreTckHarness> spi(Supplier<ProbedServer> servers, Bent.Bend bend) {
        return () -> new Harness(servers, Plain::new, bend, Bent.Call::proceed, "");
    }

    /** Another adapter, and nothing mends what it misses. */
    static Supplier<SemaphoreTckHarness> hintsOnly(Bent.Bend bend) {
        return () -> new Harness(LinkVariants::right, Plain::new, bend, Bent.Call::proceed, "60s");
    }

    /** Another port. */
    static Supplier<SemaphoreTckHarness> port(Bent.Bend bend) {
        return () -> new Harness(LinkVariants::right, Plain::new, Bent.Call::proceed, bend, "");
    }

    /** Another port, and another server. */
    static Supplier<SemaphoreTckHarness> port(Supplier<ProbedServer> servers, Bent.Bend bend) {
        return () -> new Harness(servers, Plain::new, Bent.Call::proceed, bend, "");
    }

    /** Leases last for longer than the declared time, so that they do not mend what leaks. */
    static class Endless extends ProbedServer {
        Endless() {
            super(LEASE, LinkedMemoryHarness.ALL);
        }

        @Override
        protected Deadline leaseFrom(long instant) {
            return Deadline.after(instant, Variants.LONG);
        }
    }

    /** Does a request that arrives again as often as it arrives. */
    static class Gullible extends Endless {
        private final AtomicLong sequences = new AtomicLong();

        @Override
        protected ExchangeResult exchange(ServerSession session, long sequence, ExchangeRequest request) {
            return super.exchange(session, sequences.incrementAndGet(), request);
        }
    }

    /** Frees a slot for whoever asks. */
    static final class BySlot extends Endless {
        @Override
        protected MemorySemaphore newSemaphore() {
            return new MemorySemaphore() {
                @Override
                protected boolean giveBack(ServerSession session, Hold hold) {
                    return taken.remove(hold.slot()) != null;
                }
            };
        }
    }

    /** Grows with each request to grow. */
    static final class Growing extends Endless {
        @Override
        protected void resize(String name, int limit) {
            int now = describe(name).orElseThrow().limit();
            super.resize(name, limit == now ? limit + 1 : limit);
        }
    }

    /** Makes the first slot, and the others when it is asked again. */
    static final class HalfWay extends Endless {
        @Override
        protected boolean create(String name, int limit) {
            boolean created = limit > 1 && describe(name).isEmpty();
            if (created) {
                super.create(name, 1);
            } else if (describe(name).isPresent()) {
                super.resize(name, limit);
            } else {
                super.create(name, limit);
            }
            return created;
        }
    }

    /** Forgets something when it starts again or a replica takes over. */
    static class Forgetful extends ProbedServer {
        private final boolean limits;
        private final boolean holders;
        private final boolean epochs;

        Forgetful(boolean limits, boolean holders, boolean epochs) {
            super(LEASE, LinkedMemoryHarness.ALL);
            this.limits = limits;
            this.holders = holders;
            this.epochs = epochs;
        }

        @Override
        protected MemorySemaphore newSemaphore() {
            return new Stored();
        }

        private static final class Stored extends MemorySemaphore {
            void forgetEpochs() {
                nextEpochs.clear();
            }

            void forgetLimit() {
                limit = 0;
            }
        }

        private void forget() {
            locked(() -> {
                for (MemorySemaphore semaphore : semaphores.values()) {
                    Stored stored = (Stored) semaphore;
                    if (limits) {
                        stored.forgetLimit();
                    }
                    if (holders) {
                        stored.forgetAllBut(List.of());
                    }
                    if (epochs) {
                        stored.forgetEpochs();
                    }
                }
                return true;
            });
        }

        @Override
        protected void restarted() {
            forget();
        }

        @Override
        protected void restore(Map<String, List<MemorySemaphore.Taken>> known) {
            super.restore(known);
            forget();
        }
    }
}
