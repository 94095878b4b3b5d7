package io.github.distributedsemaphore.benchmarks.contestants;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DefaultConsumer;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A connection with bare requests about queues. For one thread. */
final class AmqpQueues implements AutoCloseable {
    private static final int SECONDS = 30;
    private static final AMQP.BasicProperties GONE_AT_ONCE =
            new AMQP.BasicProperties.Builder().expiration("0").build();

    private final Connection connection;
    private Channel channel;
    private volatile boolean returned;
    private volatile CountDownLatch confirmed = new CountDownLatch(1);

    AmqpQueues(String uri) {
        ConnectionFactory factory = new ConnectionFactory();
        try {
            factory.setUri(uri);
            factory.setAutomaticRecoveryEnabled(false);
            connection = factory.newConnection();
            channel = open();
        } catch (Exception e) {
            throw new BrokenRunException("no connection to the broker", e);
        }
    }

    private Channel open() throws IOException {
        Channel opened = connection.createChannel();
        opened.addReturnListener(message -> returned = true);
        opened.addConfirmListener(
                (number, several) -> confirmed.countDown(), (number, several) -> confirmed.countDown());
        opened.confirmSelect();
        return opened;
    }

    /** Whether there is such a queue, by a mandatory message and its confirm. */
    boolean exists(String queue) {
        try {
            returned = false;
            confirmed = new CountDownLatch(1);
            channel.basicPublish("", queue, true, GONE_AT_ONCE, new byte[0]);
            if (!confirmed.await(SECONDS, TimeUnit.SECONDS)) {
                throw new TimeoutException("no confirm");
            }
            return !returned;
        } catch (IOException | TimeoutException | InterruptedException e) {
            throw new BrokenRunException("a message was not confirmed", e);
        }
    }

    /** Declares an exclusive queue; false if somebody else has it, and then the channel is a new one. */
    boolean declare(String queue) {
        try {
            channel.queueDeclare(queue, false, true, false, Map.of("x-max-length", 0));
            return true;
        } catch (IOException refused) {
            try {
                channel = open();
                return false;
            } catch (IOException e) {
                e.addSuppressed(refused);
                throw new BrokenRunException("no channel after a refusal", e);
            }
        }
    }

    /** Makes a queue that stays. */
    void make(String queue) {
        try {
            channel.queueDeclare(queue, true, false, false, Map.of("x-max-length", 0));
        } catch (IOException e) {
            throw new BrokenRunException("a queue could not be made", e);
        }
    }

    /** Has a consumer at a queue, as a holder has to be counted; returns how to {@link #cancel} it. */
    String consume(String queue) {
        try {
            return channel.basicConsume(queue, true, new DefaultConsumer(channel));
        } catch (IOException e) {
            throw new BrokenRunException("no consumer at a queue", e);
        }
    }

    void cancel(String consumer) {
        try {
            channel.basicCancel(consumer);
        } catch (IOException e) {
            throw new BrokenRunException("a consumer could not be cancelled", e);
        }
    }

    void delete(String queue) {
        try {
            channel.queueDelete(queue);
        } catch (IOException e) {
            throw new BrokenRunException("a queue could not be deleted", e);
        }
    }

    @Override
    public void close() {
        connection.abort();
    }
}
