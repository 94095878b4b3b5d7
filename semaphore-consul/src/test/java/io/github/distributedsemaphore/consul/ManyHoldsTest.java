package io.github.distributedsemaphore.consul;

import static io.github.distributedsemaphore.consul.Consul.giveBack;
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
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** As many holds as a semaphore can have, over a link whose round trip takes ten milliseconds. */
class ManyHoldsTest {
    private static final Duration TTL = Duration.ofSeconds(10);
    private static final Duration ONE_WAY = Duration.ofMillis(5);

    private final ConsulServer server = ConsulServer.shared();
    private final String name = Consul.uniqueName();

    /** More than fit into one transaction. Were the entries written again with another value, their indexes would rise once more. */
    @Test
    void whatIsSentAgainHasTheSameBytes() {
        try (BrokenLink link = new BrokenLink(server.address());
                SemaphoreBackend backend = Consul.openAt("consul://" + link.address());
                BackendSession session = backend.open(name, new Consul.Losses())) {
            backend.admin().create(name, 70);
            // Or else the key would be made first.
            giveBack(session, takeHolds(session, 70).toArray(new Hold[0]));
            int before = link.requests().size();
            link.loseAnswers(1);
            takeHolds(session, 70);
            // One of those that go ahead. It takes nine bytes, so what follows does not change how they are written.
            String early = Base64.getEncoder().encodeToString("{\"Slot\":9".getBytes(StandardCharsets.UTF_8));
            List<String> sent = link.requests().stream()
                    .skip(before)
                    .filter(request -> request.contains(early))
                    .map(request -> request.substring(request.indexOf("[{")))
                    .toList();
            assertThat(sent).hasSize(2);
            assertThat(sent.get(1)).isEqualTo(sent.get(0));
        } finally {
            server.deleteBelow(name);
        }
    }

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
