package io.github.distributedsemaphore.consul;

import static io.github.distributedsemaphore.consul.Consul.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What becomes of permits whose watch fails. */
class GraceTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final ConsulServer server = ConsulServer.shared();
    private final TcpProxy proxy = new TcpProxy(new InetSocketAddress(server.host(), server.port()));
    private final String name = Consul.uniqueName();
    private final Consul.Losses losses = new Consul.Losses();

    @AfterEach
    void close() {
        proxy.close();
        server.deleteBelow(name);
    }

    private SemaphoreBackend open(String setting) {
        SemaphoreBackend backend =
                Consul.openAt("consul://127.0.0.1:" + proxy.address().getPort() + "?detection=60s" + setting);
        backend.admin().create(name, 3);
        return backend;
    }

    /** The watch has a connection besides that of the requests. */
    private void awaitWatch() {
        await("the watch is open").atMost(PATIENCE).until(() -> proxy.openConnections() >= 2);
    }

    @Test
    void theStrictReadingOfTheGuideEndsAPermitWhenItsWatchFails() {
        try (SemaphoreBackend backend = open("&grace=0s");
                BackendSession session = backend.open(name, losses)) {
            Hold hold = takeOne(session);
            awaitWatch();
            assertThat(losses.holds).isEmpty();
            proxy.cut(Ending.RESET);
            await().atMost(PATIENCE).until(() -> losses.holds.contains(hold));
            assertThat(session.check(hold)).isEqualTo(HoldState.LOST);
            await("its slot is given back")
                    .atMost(PATIENCE)
                    .until(() -> server.holders(name).stream()
                            .noneMatch(id -> server.keys().contains(name + "/" + id)));
        }
    }

    @Test
    void aWatchThatFailsForLongerThanTheGraceEndsThePermit() {
        try (SemaphoreBackend backend = open("&grace=1s");
                BackendSession session = backend.open(name, losses)) {
            Hold hold = takeOne(session);
            awaitWatch();
            LinkFault refusal = proxy.refuse();
            long cut = System.nanoTime();
            proxy.cut(Ending.RESET);
            await().atMost(PATIENCE).until(() -> losses.holds.contains(hold));
            assertThat(Duration.ofNanos(System.nanoTime() - cut)).isGreaterThanOrEqualTo(Duration.ofSeconds(1));
            refusal.close();
        }
    }

    @Test
    void aWatchThatWorksAgainInTimeCostsNothing() {
        for (String setting : List.of("", "&grace=4s")) {
            try (SemaphoreBackend backend = open(setting);
                    BackendSession session = backend.open(name, losses)) {
                Hold hold = takeOne(session);
                awaitWatch();
                long cut = System.nanoTime();
                proxy.cut(Ending.RESET);
                await("the permit is confirmed")
                        .atMost(PATIENCE)
                        .ignoreExceptionsInstanceOf(BackendUnavailableException.class)
                        .until(() -> session.check(hold) == HoldState.HELD);
                awaitWatch();
                await("the grace is over")
                        .until(() -> System.nanoTime() - cut
                                > Duration.ofMillis(4_100).toNanos());
                assertThat(session.renew(List.of(hold)).lost()).isEmpty();
                assertThat(losses.holds).isEmpty();
            }
        }
    }
}
