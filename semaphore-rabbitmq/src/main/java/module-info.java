/** The backend for RabbitMQ: a durable queue is a slot, an exclusive queue is a hold. */
// The client names itself by Automatic-Module-Name and has no descriptor; nothing of it is in our signatures.
@SuppressWarnings("requires-automatic")
module io.github.distributedsemaphore.rabbitmq {
    requires transitive io.github.distributedsemaphore.api;
    requires com.rabbitmq.client;
    requires static org.jspecify;
    requires org.slf4j;

    exports io.github.distributedsemaphore.rabbitmq;

    provides io.github.distributedsemaphore.spi.BackendProvider with
            io.github.distributedsemaphore.rabbitmq.RabbitBackendProvider;
}
