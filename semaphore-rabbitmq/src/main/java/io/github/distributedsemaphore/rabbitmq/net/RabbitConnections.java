package io.github.distributedsemaphore.rabbitmq.net;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Address;
import com.rabbitmq.client.AddressResolver;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DnsRecordIpAddressResolver;
import com.rabbitmq.client.ShutdownSignalException;
import com.rabbitmq.client.impl.ForgivingExceptionHandler;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens connections, always without the client library's recovery: it declares exclusive queues again behind our back, so
 * that a permit that somebody else had meanwhile would look as if it was never lost. Knows every connection and every attempt
 * to make one, so that none is left when the client is closed. Thread-safe.
 */
public final class RabbitConnections implements AutoCloseable {
    /** Room for a batch of probes, so that writing it never waits for a broker that does not read. */
    private static final int SEND_BUFFER = 1 << 18;

    /** Short, so that a client without work has no thread but those of its connections. */
    private static final long IDLE_SECONDS = 1;

    /** What remains of the client library's without the cancel notification and what only publishers need. */
    private static final Map<String, Object> UNTOLD =
            Map.of("authentication_failure_close", true, "connection.blocked", true);

    private static final Logger LOG = LoggerFactory.getLogger(RabbitConnections.class);

    private static final AtomicInteger THREADS = new AtomicInteger();

    private final RabbitSettings settings;
    /** Tells the addresses of a node. */
    private final Function<Address, AddressResolver> names;

    private final ThreadFactory threads = RabbitConnections::newThread;
    /** What comes after the end still has to be done, such as closing a socket, and gets a thread of its own. */
    private final ExecutorService executor = new ThreadPoolExecutor(
            0,
            Integer.MAX_VALUE,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            threads,
            (work, pool) -> newThread(work).start());

    private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1, threads);
    private final Set<Attempt> attempts = ConcurrentHashMap.newKeySet();
    private final Set<Opened> connections = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    public RabbitConnections(RabbitSettings settings) {
        this(settings, node -> new DnsRecordIpAddressResolver(node, settings.tls() != null));
    }

    RabbitConnections(RabbitSettings settings, Function<Address, AddressResolver> names) {
        this.settings = settings;
        this.names = names;
        timer.setRemoveOnCancelPolicy(true);
    }

    public RabbitSettings settings() {
        return settings;
    }

    private static Thread newThread(Runnable work) {
        Thread thread = new Thread(work, "semaphore-rabbitmq-" + THREADS.incrementAndGet());
        thread.setDaemon(true);
        return thread;
    }

    /** Runs something that may block, or has to be done on a thread that nobody interrupts. */
    public void execute(Runnable work) {
        executor.execute(work);
    }

    /** The same for what can be left out: that there is no thread for it must not undo what was done before. */
    public void executeIfPossible(Runnable work) {
        try {
            execute(work);
        } catch (OutOfMemoryError e) {
            LOG.warn("Something was left out for want of a thread: {}", e.toString());
        }
    }

    /** Runs something that does not block a while later, unless the client is closed by then. */
    public void later(Runnable work, Duration delay) {
        try {
            ScheduledFuture<?> unused = timer.schedule(work, delay.toNanos(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("the client is closed", e);
        }
    }

    /**
     * Runs a request for which the client library has no time-out of ours, and waits for its result. What is not done by the
     * end goes on until its connection ends.
     *
     * @param late gets a result that comes after the end; may block
     * @throws IOException if it failed, or is not done by the end
     * @throws SemaphoreException if it failed by one
     */
    public <T> T call(Callable<T> request, Consumer<T> late, Deadline end) throws IOException {
        CompletableFuture<T> result = new CompletableFuture<>();
        execute(() -> {
            try {
                result.complete(request.call());
            } catch (Exception e) {
                result.completeExceptionally(e);
            }
        });
        try {
            return InterruptShield.await(result, end);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SemaphoreException refusal) {
                throw refusal;
            }
            throw new IOException(String.valueOf(e.getMessage()), e);
        } catch (TimeoutException e) {
            CompletableFuture<?> unused = result.thenAcceptAsync(late, this::execute);
            throw new IOException("no answer in time", e);
        }
    }

    /**
     * An open connection.
     *
     * @param connection the connection
     * @param socket what it runs on: closing it is how a process dies
     */
    record Opened(Connection connection, Socket socket) {
        /** Ends it without a word, as if the process had died. May block for a moment. */
        void drop() {
            RabbitConnections.close(socket);
            connection.abort(0);
        }

        /** Ends it in order, or without a word if the broker does not answer for so long. */
        void close(long millis) {
            try {
                connection.close(AMQP.REPLY_SUCCESS, "closed", (int) millis);
            } catch (IOException | ShutdownSignalException e) {
                LOG.debug("a connection did not close in order", e);
                drop();
            }
        }
    }

    private static void close(@Nullable Socket socket) {
        try {
            if (socket != null) {
                socket.close();
            }
        } catch (IOException e) {
            LOG.debug("a socket did not close in order", e);
        }
    }

    /**
     * Opens a connection. On a thread of our own: a caller on an interrupted virtual thread would close the socket.
     *
     * @param purpose what it is for, to be seen by the broker's operator
     * @param end how long to wait; an attempt that is not done by then is given up
     */
    Opened open(String purpose, Deadline end) {
        // Its consumers only count holders: the client library would warn of each when their queue is deleted.
        CompletableFuture<Opened> opening = connect(purpose, /* told */ false);
        try {
            return InterruptShield.await(opening, end);
        } catch (ExecutionException e) {
            throw Failures.notConnected(settings, e.getCause() == null ? e : e.getCause());
        } catch (TimeoutException e) {
            if (!opening.completeExceptionally(e)) {
                // It came up just now, and nobody else knows of it.
                CompletableFuture<?> unused = opening.thenAcceptAsync(Opened::drop, this::execute);
            }
            throw Failures.notConnected(settings, e);
        }
    }

    /**
     * Opens a connection, and gives it up after the time-out, or when what this returns is completed otherwise.
     *
     * @param told whether consumers hear when their queue is deleted
     */
    CompletableFuture<Opened> connect(String purpose, boolean told) {
        Attempt attempt = new Attempt();
        attempts.add(attempt);
        CompletableFuture<?> unused = attempt.result.whenComplete((opened, failure) -> {
            attempts.remove(attempt);
            if (failure != null) {
                execute(() -> close(attempt.socket));
            }
        });
        later(
                () -> attempt.result.completeExceptionally(
                        new TimeoutException("no connection within " + settings.timeout())),
                settings.timeout());
        execute(() -> attempt.connect(purpose, told));
        return attempt.result;
    }

    /** A connection that is being made. Giving it up closes the socket, which ends whatever it waits for. */
    private final class Attempt {
        private final CompletableFuture<Opened> result = new CompletableFuture<>();
        private volatile @Nullable Socket socket;

        void connect(String purpose, boolean told) {
            try {
                List<Address> order = inOrder();
                Connection connection = factory(this, told, order.size()).newConnection(executor, () -> order, purpose);
                keep(new Opened(
                        connection, Objects.requireNonNull(socket, "the client library has configured no socket")));
            } catch (IOException | TimeoutException | RuntimeException e) {
                result.completeExceptionally(e);
            }
        }

        private void keep(Opened opened) {
            connections.add(opened);
            opened.connection().addShutdownListener(signal -> connections.remove(opened));
            // The order matters: the closing thread sets the mark before it looks for connections.
            if (closed || !result.complete(opened)) {
                result.completeExceptionally(new IOException("the client is closed"));
                opened.drop();
            }
        }

        /** Called before each node is connected to. */
        void use(Socket next) throws IOException {
            next.setTcpNoDelay(true);
            next.setSendBufferSize(SEND_BUFFER);
            socket = next;
            if (result.isDone()) {
                close(next);
                throw new IOException("nobody waits for this connection any more");
            }
        }
    }

    /**
     * The nodes in random order; or the addresses of the only one, in the system's, which may have reasons for it. Of several nodes no
     * names are looked up here: one that nobody tells would keep us from the others.
     */
    private List<Address> inOrder() throws IOException {
        List<Address> nodes = new ArrayList<>(settings.addresses());
        Collections.shuffle(nodes);
        return nodes.size() > 1 ? nodes : names.apply(nodes.get(0)).getAddresses();
    }

    private ConnectionFactory factory(Attempt attempt, boolean told, int addresses) {
        // Of several nodes one that is silent leaves the others their part of the time.
        int each = Math.max(1, settings.timeoutMillis() / settings.addresses().size());
        ConnectionFactory factory = new ConnectionFactory();
        factory.setUsername(settings.user());
        factory.setPassword(settings.password());
        factory.setVirtualHost(settings.virtualHost());
        factory.setAutomaticRecoveryEnabled(false);
        factory.setTopologyRecoveryEnabled(false);
        factory.setRequestedHeartbeat(settings.heartbeat());
        // The same of several addresses of a node; but a login there that is slow may be so at each of them.
        factory.setConnectionTimeout(Math.max(1, settings.timeoutMillis() / addresses));
        factory.setHandshakeTimeout(each);
        // By default it would be ten minutes.
        factory.setChannelRpcTimeout(settings.timeoutMillis());
        factory.setShutdownTimeout(settings.timeoutMillis());
        factory.setExceptionHandler(new QuietExceptionHandler());
        factory.setThreadFactory(threads);
        factory.setSharedExecutor(executor);
        factory.setHeartbeatExecutor(timer);
        factory.setSocketConfigurator(attempt::use);
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

    /** Reports what happens to a connection to its users. */
    private static final class QuietExceptionHandler extends ForgivingExceptionHandler {
        @Override
        protected void log(String message, Throwable e) {
            LOG.debug(message, e);
        }
    }

    /** Ends every connection, and every attempt to make one. Does not wait for them. */
    @Override
    public void close() {
        closed = true;
        attempts.forEach(attempt -> attempt.result.completeExceptionally(new IOException("the client is closed")));
        connections.forEach(opened -> execute(opened::drop));
        executor.shutdown();
        timer.shutdownNow();
    }
}
