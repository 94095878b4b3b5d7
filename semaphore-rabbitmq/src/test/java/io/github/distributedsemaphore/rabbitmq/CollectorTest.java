package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.rabbitmq.net.RabbitSettings;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How long a client waits for another one that collects several slots. */
class CollectorTest {
    private static final ExchangeRequest SEVERAL = new ExchangeRequest(List.of(), List.of(2), 1, true);

    /** Longer than a client that collects is waited for. */
    private static final Duration LONG = Duration.ofMillis(1_100);

    private final QueueNames names = new QueueNames(Rabbit.name());
    private final Collector collector = new Collector(names);

    private boolean isPostponed(HolderConnection holder) throws Exception {
        CallBudget budget = CallBudget.of("a test", Duration.ofSeconds(60));
        collector.begin(SEVERAL, holder, budget);
        collector.end(holder, budget);
        return collector.isPostponed();
    }

    @Test
    void aClientThatCollectsNowIsNotTakenForOneThatDidLongAgo() throws Exception {
        try (RabbitConnections connections = new RabbitConnections(
                        RabbitSettings.from(BackendUri.parse(RabbitServer.uri()), HolderInfo.ofThisProcess("a test")));
                Connection another = Rabbit.connection()) {
            HolderConnection holder = new HolderConnection(connections, "a test", reason -> {}, Deadline.NEVER);
            Channel channel = another.createChannel();
            channel.queueDeclare(names.collector(), false, true, false, null);
            assertThat(isPostponed(holder)).as("the first time").isTrue();
            Deadline later = Deadline.after(System.nanoTime(), LONG);
            await().until(() -> later.isPast(System.nanoTime()));
            assertThat(isPostponed(holder)).as("a while later").isTrue();
            await("it is not waited for without end")
                    .pollInterval(Duration.ofMillis(10))
                    .until(() -> !isPostponed(holder));
            channel.queueDelete(names.collector());
            assertThat(isPostponed(holder)).as("when it is done").isFalse();
        }
    }
}
