package io.github.distributedsemaphore.consul;

import static io.github.distributedsemaphore.consul.Consul.takeHolds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** As many holds as a semaphore can have, over a link whose round trip takes ten milliseconds. */
class ManyHoldsTest {
    private static final Duration TTL = Duration.ofSeconds(10);
    private static final Duration ONE_WAY = Duration.ofMillis(5);

    private final ConsulServer server = ConsulServer.shared();
    private final String name = Consul.uniqueName();

    @Test
    void allAreRenewedBeforeTheirTimeToLiveIsOver() {
        try (TcpProxy proxy = new TcpProxy(new InetSocketAddress(server.host(), server.port()));
                SemaphoreBackend backend =
                        Consul.openAt("consul://127.0.0.1:" + proxy.address().getPort() + "?detection=22s");
                BackendSession session = backend.open(name, new Consul.Losses())) {
            backend.admin().create(name, ConsulBackend.MAX_PERMITS);
            List<Hold> holds = new ArrayList<>();
            while (holds.size() < ConsulBackend.MAX_PERMITS) {
                holds.addAll(takeHolds(session, 100));
            }
            try (LinkFault delay = proxy.delay(ONE_WAY, ONE_WAY, new Random(1))) {
                long start = System.nanoTime();
                await("all are sure for a time to live from now on")
                        .atMost(TTL)
                        .ignoreExceptionsInstanceOf(BackendUnavailableException.class)
                        .until(() -> {
                            Renewal renewal = session.renew(holds);
                            assertThat(renewal.lost()).isEmpty();
                            return renewal.validUntil().nanosFrom(start) >= TTL.toNanos();
                        });
                assertThat(delay.strikes()).isGreaterThan(ConsulBackend.MAX_PERMITS);
            }
        } finally {
            server.deleteBelow(name);
        }
    }
}
