package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.Address;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.impl.ForgivingExceptionHandler;
import io.github.distributedsemaphore.spi.InterruptShield;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens connections, always without the client library's recovery: it declares exclusive queues again behind our back, so
 * that a permit that somebody else had meanwhile would look as if it was never lost. Thread-safe.
 */
final class RabbitConnections implements AutoCloseable {
    /** Room for a batch of probes, so that writing it never waits for a broker that does not read. */
    private static final int SEND_BUFFER = 1 << 18;

    private static final long IDLE_SECONDS = 10;

    /** What remains of the client library's without the cancel notification and what only publishers need. */
    private static final Map<String, Object> UNTOLD =
            Map.of("authentication_failure_close", true, "connection.blocked", true);

    private static final Logger LOG = LoggerFactory.getLogger(RabbitConnections.class);

    private static final AtomicInteger THREADS = new AtomicInteger();

    private final RabbitSettings settings;
    private final ThreadFactory threads = RabbitConnections::newThread;
    /** Of no use after the end, when the client library still reports to it what ended. */
    private final ExecutorService executor = new ThreadPoolExecutor(
            0,
            Integer.MAX_VALUE,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            threads,
            new ThreadPoolExecutor.DiscardPolicy());

    private final ScheduledExecutorService heartbeats = Executors.newSingleThreadScheduledExecutor(threads);

    RabbitConnections(RabbitSettings settings) {
        this.settings = settings;
    }

    /**
     * An open connection with its socket.
     *
     * @param connection the connection
     * @param socket what it runs on: closing it is how a process dies
     */
    record Opened(Connection connection, Socket socket) {}

    RabbitSettings settings() {
        return settings;
    }

    private static Thread newThread(Runnable work) {
        Thread thread = new Thread(work, "semaphore-rabbitmq-" + THREADS.incrementAndGet());
        thread.setDaemon(true);
        return thread;
    }

    /** Runs something that may block, or has to be done on a thread that nobody interrupts. */
    void execute(Runnable work) {
        if (executor.isShutdown()) {
            threads.newThread(work).start();
        } else {
            executor.execute(work);
        }
    }

    /**
     * Opens a connection. On a thread of our own: a caller on an interrupted virtual thread would close the socket.
     *
     * @param purpose what it is for, to be seen by the broker's operator
     * @param told whether consumers are told when their queue is deleted
     */
    Opened open(String purpose, boolean told) {
        CompletableFuture<Opened> opening = new CompletableFuture<>();
        if (executor.isShutdown()) {
            throw Failures.unavailable(settings.broker() + ": the client is closed", null);
        }
        executor.execute(() -> connect(purpose, told, opening));
        try (InterruptShield shield = new InterruptShield()) {
            return await(opening, settings.timeout().toNanos(), shield);
        } catch (ExecutionException e) {
            throw Failures.notConnected(settings, e.getCause() == null ? e : e.getCause());
        } catch (TimeoutException e) {
            opening.cancel(false);
            throw Failures.notConnected(settings, e);
        }
    }

    private static Opened await(CompletableFuture<Opened> opening, long timeoutNanos, InterruptShield shield)
            throws ExecutionException, TimeoutException {
        long end = System.nanoTime() + timeoutNanos;
        while (true) {
            try {
                return opening.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                shield.absorb(e);
            }
        }
    }

    private void connect(String purpose, boolean told, CompletableFuture<Opened> opening) {
        AtomicReference<@Nullable Socket> socket = new AtomicReference<>();
        try {
            List<Address> order = new ArrayList<>(settings.addresses());
            Collections.shuffle(order);
            Connection connection = factory(socket, told).newConnection(order, purpose);
            Socket used = socket.get();
            if (used == null || !opening.complete(new Opened(connection, used))) {
                // Nobody waits for it any more.
                connection.abort(0);
            }
        } catch (IOException | TimeoutException | RuntimeException e) {
            opening.completeExceptionally(e);
        }
    }

    private ConnectionFactory factory(AtomicReference<@Nullable Socket> socket, boolean told) {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setUsername(settings.user());
        factory.setPassword(settings.password());
        factory.setVirtualHost(settings.virtualHost());
        factory.setAutomaticRecoveryEnabled(false);
        factory.setTopologyRecoveryEnabled(false);
        factory.setRequestedHeartbeat(settings.heartbeat());
        factory.setConnectionTimeout(settings.timeoutMillis());
        factory.setHandshakeTimeout(settings.timeoutMillis());
        // By default it would be ten minutes.
        factory.setChannelRpcTimeout(settings.timeoutMillis());
        factory.setShutdownTimeout(settings.timeoutMillis());
        factory.setExceptionHandler(new QuietExceptionHandler());
        factory.setThreadFactory(threads);
        factory.setSharedExecutor(executor);
        factory.setHeartbeatExecutor(heartbeats);
        factory.setSocketConfigurator(used -> {
            used.setTcpNoDelay(true);
            used.setSendBufferSize(SEND_BUFFER);
            socket.set(used);
        });
        if (!told) {
            factory.getClientProperties().put("capabilities", UNTOLD);
        }
        if (settings.tls() != null) {
            factory.useSslProtocol(settings.tls());
            // After the configurator, to which it adds: the other way round nobody would look at the host's name.
            factory.enableHostnameVerification();
        }
        return factory;
    }

    /** What happens to a connection is told to those who use it. */
    private static final class QuietExceptionHandler extends ForgivingExceptionHandler {
        @Override
        protected void log(String message, Throwable e) {
            LOG.debug(message, e);
        }
    }

    @Override
    public void close() {
        executor.shutdown();
        heartbeats.shutdownNow();
    }
}
