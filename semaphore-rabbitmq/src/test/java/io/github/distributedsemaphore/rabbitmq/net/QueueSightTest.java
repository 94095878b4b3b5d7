package io.github.distributedsemaphore.rabbitmq.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.rabbitmq.client.Channel;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.rabbitmq.RabbitServer;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection.ProbeFailedException;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What probes tell, and by what time they are waited for. */
class QueueSightTest {
    private static final int PROBES = 100;

    private static Deadline soon() {
        return Deadline.after(System.nanoTime(), Duration.ofSeconds(10));
    }

    /** Its wait goes by the wall clock: one that is set back by an hour makes it an hour longer. */
    private static Channel withoutWait(Channel channel) {
        return (Channel) Proxy.newProxyInstance(
                QueueSightTest.class.getClassLoader(), new Class<?>[] {Channel.class}, (proxy, method, arguments) -> {
                    assertThat(method.getName()).doesNotStartWith("waitForConfirms");
                    try {
                        return method.invoke(channel, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void theWallClockHasNoPartInTheWaitForProbes() throws Exception {
        try (RabbitConnections connections = new RabbitConnections(
                        RabbitSettings.from(BackendUri.parse(RabbitServer.uri()), HolderInfo.ofThisProcess("a test")));
                ProbeConnection probes = new ProbeConnection(connections)) {
            ProbeConnection.Line line = probes.line(soon());
            Channel owner = line.newChannel();
            line.keep(new QueueSight.Prober(withoutWait(line.newChannel())));
            List<String> queues = new ArrayList<>();
            BitSet present = new BitSet();
            for (int i = 0; i < PROBES; i++) {
                present.set(i, i % 3 == 0);
                queues.add(present.get(i) ? owner.queueDeclare().getQueue() : "sem:absent:" + i);
            }
            QueueSight sight = new QueueSight(connections, probes);
            // Twice, as the second time the broker counts on.
            assertThat(sight.probe(queues, QueueSightTest::soon)).isEqualTo(present);
            assertThat(sight.probe(queues, QueueSightTest::soon)).isEqualTo(present);
        }
    }

    @Test
    void aConnectionThatAnswersNothingAtAllIsReplaced() throws Exception {
        try (TcpProxy proxy = new TcpProxy(new UriAccess(RabbitServer.uri()).address());
                RabbitConnections connections = new RabbitConnections(RabbitSettings.from(
                        BackendUri.parse("amqp://guest:guest@127.0.0.1:"
                                + proxy.address().getPort()),
                        HolderInfo.ofThisProcess("a test")));
                ProbeConnection probes = new ProbeConnection(connections)) {
            ProbeConnection.Line line = probes.line(soon());
            QueueSight sight = new QueueSight(connections, probes);
            // So that there is a channel, and it is the probe that has no answer.
            assertThat(sight.probe(List.of("sem:absent"), QueueSightTest::soon)).isEqualTo(new BitSet());
            try (LinkFault silence = proxy.stall(Direction.ANSWERS)) {
                assertThatThrownBy(() -> sight.probe(
                                List.of("sem:absent"), () -> Deadline.after(System.nanoTime(), Duration.ofSeconds(1))))
                        .isInstanceOf(ProbeFailedException.class);
                assertThat(silence.strikes()).isPositive();
            }
            assertThat(probes.line(soon())).isNotSameAs(line);
        }
    }
}
