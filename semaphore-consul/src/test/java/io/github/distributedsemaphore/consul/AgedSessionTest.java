package io.github.distributedsemaphore.consul;

import static io.github.distributedsemaphore.consul.Consul.ask;
import static io.github.distributedsemaphore.consul.Consul.giveBack;
import static io.github.distributedsemaphore.consul.Consul.takeHolds;
import static io.github.distributedsemaphore.consul.Consul.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A permit is valid for a while when it is granted, however old its session is; old sessions cost little. */
class AgedSessionTest {
    private static final long TTL = Duration.ofSeconds(10).toNanos();

    private final ConsulServer server = ConsulServer.shared();
    private final TcpProxy proxy = new TcpProxy(new InetSocketAddress(server.host(), server.port()));
    private final String name = Consul.uniqueName();
    private SemaphoreBackend backend;
    private BackendSession session;

    @BeforeEach
    void open() {
        backend = Consul.openAt("consul://127.0.0.1:" + proxy.address().getPort() + "?detection=22s&timeout=14s");
        backend.admin().create(name, 3);
        session = backend.open(name, new Consul.Losses());
    }

    @AfterEach
    void close() {
        session.close();
        backend.close();
        proxy.close();
        server.deleteBelow(name);
    }

    @Test
    void aSessionThatWasIdleIsRenewedBeforeItIsUsedAgain() {
        giveBack(session, takeOne(session));
        long start = System.nanoTime();
        await("the session ages").until(() -> System.nanoTime() - start > TTL * 2 / 5);

        long asked = System.nanoTime();
        ExchangeResult result = ask(session, 1);
        assertThat(result.validUntil().nanosFrom(asked)).isGreaterThan(TTL * 3 / 4);
    }

    /** Each question is a round trip, one after the other, and after a burst there are hundreds of such sessions. */
    @Test
    void ofManyIdleSessionsThatHaveEndedAFewAreAskedFor() {
        int burst = 60;
        backend.admin().resize(name, burst);
        giveBack(session, takeHolds(session, burst).toArray(Hold[]::new));
        long start = System.nanoTime();
        List<String> idle = contenders();
        assertThat(idle).hasSize(burst);
        idle.forEach(server::destroySession);
        await("the sessions age").until(() -> System.nanoTime() - start > TTL * 2 / 5);

        long before = proxy.messages(Direction.REQUESTS);
        assertThat(takeOne(session).slot()).isEqualTo(1);
        assertThat(proxy.messages(Direction.REQUESTS) - before).isLessThan(burst / 2);
    }

    private List<String> contenders() {
        return server.keys().stream()
                .filter(key -> key.startsWith(name + "/") && !key.startsWith(name + "/."))
                .map(key -> key.substring(name.length() + 1))
                .toList();
    }

    @Test
    void aGrantThatCouldBeSettledOnlyLateIsRenewedBeforeItIsTold() {
        ExchangeResult result;
        try (LinkFault fault = proxy.loseAnswerTo("PUT /v1/txn", Ending.SILENCE)) {
            assertThat(fault.strikes()).isZero();
            result = ask(session, 1);
        }
        assertThat(result.validUntil().nanosFrom(System.nanoTime())).isGreaterThan(TTL / 2);
    }
}
