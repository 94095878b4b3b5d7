package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.rabbitmq.net.RabbitSettings;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.Set;

/**
 * Semaphores in a RabbitMQ broker: {@code amqp://user:password@host:port/vhost}, or {@code amqps://} over TLS, which checks
 * the certificate and the host name. Several {@code host:port} divided by commas name the nodes of a cluster. Without
 * user it is {@code guest} with its well-known password, without path the virtual host {@code /}.
 *
 * <p>Follows the specification of the persistent semaphore: a durable queue for each slot, an exclusive queue for each
 * hold. A client uses one connection for each semaphore that it holds permits of, which never publishes, and one more
 * that probes which queues exist and carries hints.
 *
 * <p>Settings: {@code detection} (4s to 181s, by default 10s), within which the slot of a process that died without a word
 * is free; a third of it is the AMQP heartbeat. {@code slotQueues} ({@code classic}, the default, or {@code quorum} for a
 * cluster), the type of the queues that {@code create} and {@code resize} make. For {@code amqps:} there are {@code ca}, a file of PEM certificates to trust instead of the
 * JVM's, and {@code certificate} and {@code key}, files in PEM that identify the client to the broker; the key is PKCS #8 and
 * has no password. {@code timeout} (500ms to 1m, by default 4s) is how long a call may wait for the broker, with all its requests.
 *
 * <p>Thread-safe.
 */
public final class RabbitBackendProvider implements BackendProvider {
    /** Creates it, for {@link java.util.ServiceLoader}. */
    public RabbitBackendProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("amqp", "amqps");
    }

    /** Reads the settings. Connects when there is something to do, not now. */
    @Override
    public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
        return new RabbitBackend(RabbitSettings.from(uri, self));
    }
}
