package io.github.distributedsemaphore.tck.faults;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.agent.Signals;
import io.github.distributedsemaphore.tck.fixture.Conservation;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import io.github.distributedsemaphore.tck.run.TckTiming;
import io.github.distributedsemaphore.tck.watch.Observer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** A backend that stops answering when the kit says so, and the clients that feel it. Used by one thread. */
public abstract class Outage {
    /** Waiters that ask often are in an exchange when their time comes, and not between two of them. */
    static final ClientSpec EAGER = ClientSpec.plain().with("recheck", "50ms");

    private static final Duration MOST_AWAY = Duration.ofSeconds(7);

    private final String what;

    private Outage(String what) {
        this.what = what;
    }

    /** Ends an outage when it is closed. */
    @FunctionalInterface
    interface End extends AutoCloseable {
        @Override
        void close();
    }

    /** Adapters give up a request after a third of the operation bound, and that is some seconds at most. */
    static Duration longerThanRequests(TckFixture tck) {
        Duration half = tck.guarantees().callBound().dividedBy(2);
        return TckTiming.shorter(half, MOST_AWAY);
    }

    /** The ways in which a link keeps silent: a stalled one, one that swallows everything, and one that is half open. */
    static List<Outage> ofLink(TckFixture tck) {
        return List.of(stalled(tck), link(tck, "lost", TcpProxy::lose), halfOpen(tck));
    }

    /** Everything is kept on its way until the end, also the requests of callers that no longer wait then. */
    static Outage stalled(TckFixture tck) {
        return link(tck, "stalled", TcpProxy::stall);
    }

    /** Requests arrive and are carried out; answers are kept on their way. */
    static Outage halfOpen(TckFixture tck) {
        return link(tck, "half open", proxy -> proxy.stall(Direction.ANSWERS));
    }

    /** Connections end, and new ones are refused. */
    static Outage cut(TckFixture tck) {
        return link(tck, "cut", proxy -> {
            LinkFault refusal = proxy.refuse();
            // There may be none between two questions.
            proxy.cutAny(Ending.RESET);
            return refusal;
        });
    }

    private static Outage link(TckFixture tck, String how, Function<TcpProxy, LinkFault> fault) {
        Route route = tck.route();
        return new Outage("behind a link that is " + how) {
            @Override
            SemaphoreClient client(ClientSpec spec) {
                return route.client(spec);
            }

            @Override
            SemaphoreClient observer() {
                return tck.home();
            }

            @Override
            String create(int limit) {
                return tck.create(limit);
            }

            @Override
            End begin() {
                return fault.apply(route.proxy())::close;
            }
        };
    }

    /** The server is stopped with SIGSTOP; where the harness does not know its processes, it is killed and started again. */
    static Outage ofServer(TckFixture tck) {
        ServerControl server = tck.server();
        return server.processes().isEmpty()
                ? restart(tck)
                : new OfServer(tck, "of a server that is stopped", server) {
                    @Override
                    End begin() {
                        List<Long> processes = server.processes();
                        try {
                            processes.forEach(Signals::stop);
                        } catch (RuntimeException | Error e) {
                            // It is the server of all tests. What was not stopped only hears what it need not.
                            processes.forEach(Signals::resume);
                            throw e;
                        }
                        return () -> processes.forEach(Signals::resume);
                    }
                };
    }

    /** The server is killed, and at the end started again with its data. */
    static Outage restart(TckFixture tck) {
        ServerControl server = tck.server();
        return new OfServer(tck, "of a server that restarts", server) {
            @Override
            End begin() {
                server.kill();
                if (server.isRunning()) {
                    throw new FaultMissedException("the server runs although it was killed");
                }
                return server::start;
            }

            @Override
            boolean restarts() {
                return true;
            }
        };
    }

    private abstract static class OfServer extends Outage {
        private final TckFixture tck;
        private final ServerControl server;
        private final SemaphoreClient observer;

        OfServer(TckFixture tck, String what, ServerControl server) {
            super(what);
            this.tck = tck;
            this.server = server;
            this.observer = client(ClientSpec.plain());
        }

        @Override
        final SemaphoreClient client(ClientSpec spec) {
            return tck.own(server.connect(spec, server.address()));
        }

        @Override
        final SemaphoreClient observer() {
            return observer;
        }

        @Override
        final String create(int limit) {
            String name = tck.uniqueName();
            observer.admin().create(name, limit);
            return name;
        }
    }

    /** Connects a client that feels the outage. */
    abstract SemaphoreClient client(ClientSpec spec);

    /** Returns a client that feels it as little as possible. */
    abstract SemaphoreClient observer();

    /** Creates a semaphore where the clients look for it. */
    abstract String create(int limit);

    /** From now on nobody gets an answer. */
    abstract End begin();

    /** Does something while nobody gets an answer. */
    @SuppressWarnings("try") // the end is used by being closed
    final void during(Runnable body) {
        try (End end = begin()) {
            body.run();
        }
    }

    /** Shows that everything that was asked for goes back, although its callers have left and their client lives and renews. */
    final void assertSettled(TckFixture tck, Map<String, Integer> free, String of) {
        free.forEach((name, count) -> {
            new Observer(tck, observer().semaphore(name))
                    .awaitFree(count, of + " " + this + " hold nothing afterwards");
            Conservation.assertFree(observer().semaphore(name), count, tck.patience());
        });
    }

    /** Tells whether the server ends and starts again. */
    boolean restarts() {
        return false;
    }

    @Override
    public final String toString() {
        return what;
    }
}
