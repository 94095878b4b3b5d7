package io.github.distributedsemaphore.rabbitmq;

import org.jspecify.annotations.Nullable;

/** A connection that is opened only if it is needed, and closed if it was. For one thread. */
final class LazyConnection implements AutoCloseable {
    private final RabbitConnections connections;
    private @Nullable HolderConnection connection;

    LazyConnection(RabbitConnections connections) {
        this.connections = connections;
    }

    HolderConnection get() {
        HolderConnection present = connection;
        if (present == null) {
            present = new HolderConnection(connections, "semaphore administration", reason -> {});
            connection = present;
        }
        return present;
    }

    @Override
    public void close() {
        if (connection != null) {
            connection.close();
        }
    }
}
