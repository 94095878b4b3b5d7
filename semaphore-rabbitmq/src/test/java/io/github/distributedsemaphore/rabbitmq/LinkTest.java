package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection.ProbeFailedException;
import io.github.distributedsemaphore.rabbitmq.net.QueueSight;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.rabbitmq.net.RabbitSettings;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A link that carries nothing any more: the broker frees the slot only after the holder's own clock has given it up. */
class LinkTest {
    private static final int PHASES = 16;
    private static final int HEARTBEAT_MILLIS = 1_000;
    private static final String SETTINGS = "?detection=4s";
    private static final Duration DETECTION = Duration.ofSeconds(4);
    private static final int LOOKS = 100;

    private final RabbitSettings settings =
            RabbitSettings.from(BackendUri.parse(RabbitServer.uri() + SETTINGS), HolderInfo.ofThisProcess("a test"));

    @Test
    void inNoPhaseOfTheHeartbeatIsAPermitValidWhenTheBrokerHasFreedItsSlotAndThatIsInTime() throws Exception {
        try (TcpProxy proxy = new TcpProxy(new UriAccess(RabbitServer.uri()).address());
                RabbitConnections connections = new RabbitConnections(settings);
                ProbeConnection probes = new ProbeConnection(connections);
                SemaphoreClient admin = SemaphoreClient.connect(RabbitServer.uri() + SETTINGS)) {
            List<SemaphoreClient> holders = new ArrayList<>();
            List<Permit> permits = new ArrayList<>();
            for (int phase = 0; phase < PHASES; phase++) {
                String name = Rabbit.name();
                admin.admin().create(name, 1);
                SemaphoreClient holder = SemaphoreClient.connect(
                        "amqp://guest:guest@127.0.0.1:" + proxy.address().getPort() + SETTINGS);
                holders.add(holder);
                permits.add(holder.semaphore(name).acquire());
                // The phases of heartbeat and renewal are what is tested.
                TimeUnit.MILLISECONDS.sleep(HEARTBEAT_MILLIS / PHASES);
            }
            try (LinkFault silence = proxy.stall()) {
                watch(new QueueSight(connections, probes), permits);
                assertThat(silence.strikes()).isPositive();
            }
            holders.forEach(SemaphoreClient::close);
            permits.forEach(permit -> admin.admin().destroy(permit.semaphoreName()));
        }
    }

    /** Looks without a pause, so that an overlap of some milliseconds would be seen. */
    private static void watch(QueueSight sight, List<Permit> permits) throws ProbeFailedException {
        long cut = System.nanoTime();
        List<String> holds = permits.stream()
                .map(permit -> new QueueNames(permit.semaphoreName()).hold(permit.slot()))
                .toList();
        Map<Permit, Deadline> sure = new HashMap<>();
        Set<Permit> freed = new HashSet<>();
        int looks = 0;
        while (freed.size() < permits.size()) {
            permits.stream().filter(Permit::isValid).forEach(permit -> sure.put(permit, permit.validUntil()));
            BitSet present = sight.probe(holds, () -> Deadline.NEVER);
            long now = System.nanoTime();
            looks++;
            assertThat(Duration.ofNanos(now - cut))
                    .as("%d slots are free", freed.size())
                    .isLessThan(DETECTION);
            for (int i = 0; i < permits.size(); i++) {
                Permit permit = permits.get(i);
                if (!present.get(i) && freed.add(permit)) {
                    assertThat(permit.isValid())
                            .as("a permit whose slot is free")
                            .isFalse();
                    assertThat(sure.get(permit).isPast(now)).isTrue();
                }
            }
        }
        assertThat(looks).as("looks while the slots were freed").isGreaterThan(LOOKS);
    }
}
