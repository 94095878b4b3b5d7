package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.IOException;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The broker's own events, where its plugin rabbitmq_event_exchange is enabled: that a queue was deleted, also one that went
 * with its connection. So a holder's crash is heard of, which no message of a client tells. See the plugin's documentation.
 */
final class BrokerEvents {
    static final String DELETED = "queue.deleted";

    private static final String EXCHANGE = "amq.rabbitmq.event";

    private static final Logger LOG = LoggerFactory.getLogger(BrokerEvents.class);

    private BrokerEvents() {}

    /** Sends the news of deleted queues to a queue. Without the plugin, or the right to read from it, nothing happens. */
    static void sendTo(ProbeConnection.Line line, String queue) {
        try {
            // A refusal closes the channel, so it is one of its own.
            Channel channel = line.newChannel();
            try {
                channel.queueBind(queue, EXCHANGE, DELETED);
            } finally {
                HolderConnection.abort(channel);
            }
        } catch (IOException | ShutdownSignalException e) {
            LOG.debug("no events of the broker, so a crash is found out on a timer", e);
        }
    }

    /** The semaphore, as it stands in the names of queues, of which a hold has vanished. */
    static Optional<String> semaphore(Delivery event) {
        Object name = event.getProperties().getHeaders().get("name");
        return QueueNames.semaphoreOfHold(String.valueOf(name));
    }
}
