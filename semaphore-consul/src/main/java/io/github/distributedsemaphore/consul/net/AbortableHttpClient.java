package io.github.distributedsemaphore.consul.net;

import io.github.distributedsemaphore.spi.support.InterruptShield;
import io.github.distributedsemaphore.spi.support.PlatformThreads;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import org.apache.http.HttpHost;
import org.apache.http.HttpRequest;
import org.apache.http.client.config.RequestConfig;
import org.apache.http.client.methods.CloseableHttpResponse;
import org.apache.http.client.methods.HttpRequestBase;
import org.apache.http.config.RegistryBuilder;
import org.apache.http.conn.DnsResolver;
import org.apache.http.conn.socket.ConnectionSocketFactory;
import org.apache.http.conn.socket.PlainConnectionSocketFactory;
import org.apache.http.conn.ssl.SSLConnectionSocketFactory;
import org.apache.http.impl.client.CloseableHttpClient;
import org.apache.http.impl.client.HttpClients;
import org.apache.http.impl.conn.PoolingHttpClientConnectionManager;
import org.apache.http.protocol.BasicHttpContext;
import org.apache.http.protocol.HttpContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An HTTP client whose requests have a deadline and can be aborted from outside, although the library between makes them
 * itself and an interrupt does not end a blocked read. With a pool of its own, and without automatic repetition. Thread-safe.
 */
final class AbortableHttpClient extends CloseableHttpClient {
    private static final Logger LOG = LoggerFactory.getLogger(AbortableHttpClient.class);
    private static final ThreadLocal<@Nullable Call> CURRENT = new ThreadLocal<>();
    private static final int LONGEST_CONNECT_MILLIS = 2_000;

    private final DnsResolver names;
    private final PoolingHttpClientConnectionManager connections;
    private final CloseableHttpClient client;

    private final Executor threads = PlatformThreads.asMany(AbortableHttpClient::daemon);

    /** The last question for the agent's address. */
    private @Nullable FutureTask<InetAddress[]> question;

    /**
     * Creates it; connects to nothing yet.
     *
     * @param tls the certificates of the other side and our own, for {@code https}; null if that is not used
     * @param names finds the addresses of a host, and may take any time
     */
    AbortableHttpClient(int maxConnections, @Nullable SSLContext tls, DnsResolver names) {
        this.names = names;
        RegistryBuilder<ConnectionSocketFactory> sockets = RegistryBuilder.<ConnectionSocketFactory>create()
                .register("http", PlainConnectionSocketFactory.getSocketFactory());
        if (tls != null) {
            sockets.register("https", new SSLConnectionSocketFactory(tls));
        }
        connections = new PoolingHttpClientConnectionManager(sockets.build(), this::addresses);
        connections.setMaxTotal(maxConnections);
        connections.setDefaultMaxPerRoute(maxConnections);
        // A connection that was idle for longer is tried before use: the agent may have been restarted.
        connections.setValidateAfterInactivity(500);
        this.client = HttpClients.custom()
                .setConnectionManager(connections)
                .disableAutomaticRetries()
                .disableCookieManagement()
                // The server would compress even its shortest answers, which takes longer than to send them.
                .disableContentCompression()
                .disableRedirectHandling()
                .build();
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(null, task, "semaphore-consul-calls", 0, false);
        thread.setDaemon(true);
        return thread;
    }

    /** Runs a step whose request belongs to the call; a call may have several, one after the other. An interrupt breaks off none. */
    <T> T with(Call call, Supplier<T> step) {
        return PlatformThreads.<T, RuntimeException>call(threads, () -> here(call, step));
    }

    private static <T> T here(Call call, Supplier<T> step) {
        call.begins();
        CURRENT.set(call);
        try {
            return step.get();
        } finally {
            CURRENT.remove();
        }
    }

    @Override
    protected CloseableHttpResponse doExecute(HttpHost target, HttpRequest request, @Nullable HttpContext context)
            throws IOException {
        Call call = CURRENT.get();
        if (call == null || !(request instanceof HttpRequestBase ours)) {
            throw new IllegalStateException("a request without a call: " + request);
        }
        int left = (int) Math.min(Integer.MAX_VALUE, 1 + call.end().remaining().toMillis());
        ours.setConfig(RequestConfig.custom()
                .setConnectTimeout(Math.min(left, LONGEST_CONNECT_MILLIS))
                .setConnectionRequestTimeout(left)
                .setSocketTimeout(left)
                .build());
        HttpContext ofRequest = new BasicHttpContext();
        call.started(ours, ofRequest);
        return client.execute(target, ours, ofRequest);
    }

    /** A name server that says nothing holds up a thread of ours, and the caller until the end of its call. */
    private InetAddress[] addresses(String host) throws UnknownHostException {
        Call call = CURRENT.get();
        if (call == null || host.matches("[0-9.]+|.*:.*")) {
            return names.resolve(host);
        }
        try {
            return InterruptShield.await(ask(host), call.end());
        } catch (TimeoutException | ExecutionException e) {
            UnknownHostException failure = new UnknownHostException("no address of " + host + ": " + e.getMessage());
            failure.initCause(e);
            throw failure;
        }
    }

    /** All requests go to one host, so those that come meanwhile wait for the same answer. */
    private FutureTask<InetAddress[]> ask(String host) {
        FutureTask<InetAddress[]> asked;
        synchronized (this) {
            if (question != null && !question.isDone()) {
                return question;
            }
            asked = new FutureTask<>(() -> names.resolve(host));
            question = asked;
        }
        // Without the lock: if there is no thread this one asks.
        PlatformThreads.execute(threads, asked);
        return asked;
    }

    /** Drops the connections that nobody uses at the moment. */
    void dropIdle() {
        connections.closeIdleConnections(0, TimeUnit.MILLISECONDS);
    }

    @Override
    public void close() {
        try {
            client.close();
        } catch (IOException e) {
            LOG.debug("The HTTP client did not close in order", e);
        }
    }

    @Override
    @Deprecated
    public org.apache.http.params.HttpParams getParams() {
        return client.getParams();
    }

    @Override
    @Deprecated
    public org.apache.http.conn.ClientConnectionManager getConnectionManager() {
        return client.getConnectionManager();
    }
}
