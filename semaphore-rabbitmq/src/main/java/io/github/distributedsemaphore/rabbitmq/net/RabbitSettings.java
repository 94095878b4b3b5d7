package io.github.distributedsemaphore.rabbitmq.net;

import com.rabbitmq.client.Address;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import io.github.distributedsemaphore.spi.support.TlsSettings;
import java.time.Duration;
import java.util.List;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * How a client uses a broker.
 *
 * @param addresses the nodes, tried in a random order
 * @param user the user
 * @param password the password: not for logs
 * @param virtualHost the virtual host
 * @param tls what to trust and to show; null for a connection in clear
 * @param detection within which time the slot of a dead holder is free
 * @param timeout how long a call may wait for the broker, with all its requests
 * @param slotQueueType the type of the queues that are slots
 * @param self describes this client
 */
public record RabbitSettings(
        List<Address> addresses,
        String user,
        String password,
        String virtualHost,
        @Nullable SSLContext tls,
        Duration detection,
        Duration timeout,
        String slotQueueType,
        HolderInfo self) {
    /** The beginning of the names of all queues of this library, for permissions and policies. */
    public static final String QUEUE_PREFIX = "sem:";

    /** A waiter may find a free slot so much later than the broker freed it. */
    static final Duration NOTICE = Duration.ofSeconds(1);

    public static RabbitSettings from(BackendUri uri, HolderInfo self) {
        boolean encrypted = uri.scheme().equals("amqps");
        Duration detection = uri.duration(
                "detection",
                Duration.ofSeconds(10),
                Duration.ofSeconds(3).plus(NOTICE),
                Duration.ofSeconds(180).plus(NOTICE));
        String path = uri.path();
        return new RabbitSettings(
                HostAndPort.parseAll(uri.hosts(), encrypted ? 5671 : 5672).stream()
                        .map(node -> new Address(node.host(), node.port()))
                        .toList(),
                uri.user().isEmpty() ? "guest" : uri.user(),
                uri.user().isEmpty() ? "guest" : uri.password(),
                path.length() <= 1 ? "/" : path.substring(1),
                TlsSettings.from(uri, encrypted, "amqps")
                        .map(TlsSettings::context)
                        .orElse(null),
                detection,
                uri.duration("timeout", Duration.ofSeconds(4), Duration.ofMillis(500), Duration.ofMinutes(1)),
                uri.choice("slotQueues", "classic", "quorum"),
                self);
    }

    /** The interval to ask the broker for, in seconds: it frees a silent client's queues after at most three of them. */
    public int heartbeat() {
        return (int) (detection.minus(NOTICE).toMillis() / 3_000);
    }

    int timeoutMillis() {
        return (int) timeout.toMillis();
    }

    /** Whom the messages of exceptions are about. */
    @Override
    public String toString() {
        return "RabbitMQ at "
                + String.join(",", addresses.stream().map(Address::toString).toList());
    }
}
