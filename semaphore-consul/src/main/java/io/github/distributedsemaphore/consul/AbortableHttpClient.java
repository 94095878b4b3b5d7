package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import org.apache.http.HttpHost;
import org.apache.http.HttpRequest;
import org.apache.http.client.config.RequestConfig;
import org.apache.http.client.methods.CloseableHttpResponse;
import org.apache.http.client.methods.HttpRequestBase;
import org.apache.http.config.RegistryBuilder;
import org.apache.http.conn.socket.ConnectionSocketFactory;
import org.apache.http.conn.socket.PlainConnectionSocketFactory;
import org.apache.http.conn.ssl.SSLConnectionSocketFactory;
import org.apache.http.impl.client.CloseableHttpClient;
import org.apache.http.impl.client.HttpClients;
import org.apache.http.impl.conn.PoolingHttpClientConnectionManager;
import org.apache.http.protocol.BasicHttpContext;
import org.apache.http.protocol.HttpContext;
import org.apache.http.protocol.HttpCoreContext;
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

    private final PoolingHttpClientConnectionManager connections;
    private final CloseableHttpClient client;

    /**
     * Creates it; connects to nothing yet.
     *
     * @param tls the certificates of the other side and our own, for {@code https}; null if that is not used
     */
    AbortableHttpClient(int maxConnections, @Nullable SSLContext tls) {
        RegistryBuilder<ConnectionSocketFactory> sockets = RegistryBuilder.<ConnectionSocketFactory>create()
                .register("http", PlainConnectionSocketFactory.getSocketFactory());
        if (tls != null) {
            sockets.register("https", new SSLConnectionSocketFactory(tls));
        }
        connections = new PoolingHttpClientConnectionManager(sockets.build());
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

    /** What somebody asks. Its socket's time-outs end it when nothing comes, {@link #abort} ends it whatever it does. */
    static final class Call {
        private final Duration onceConnected;
        private volatile Deadline end;
        private volatile boolean hadConnection;
        private @Nullable HttpContext context;
        private boolean aborted;
        private @Nullable HttpRequestBase request;

        /**
         * Creates one whose requests share a time.
         *
         * @param end when it has to be over, waiting for a connection included
         */
        Call(Deadline end) {
            this.end = end;
            this.onceConnected = Duration.ZERO;
        }

        /**
         * Creates one that may wait for news, and before that for as long for a connection.
         *
         * @param longest how long a request may take from when it has a connection
         */
        Call(Duration longest) {
            this.end = Deadline.after(System.nanoTime(), longest);
            this.onceConnected = longest;
        }

        /** Notes that there is a connection for it. */
        void connected() {
            hadConnection = true;
            if (!onceConnected.isZero()) {
                end = Deadline.after(System.nanoTime(), onceConnected);
            }
        }

        /** Whether there was a connection for it; if not, nothing was tried. */
        boolean hadConnection() {
            return hadConnection;
        }

        Deadline end() {
            return end;
        }

        /** Ends the request, also if it is only about to be sent. */
        synchronized void abort() {
            aborted = true;
            if (request != null) {
                request.abort();
            }
        }

        private synchronized void started(HttpRequestBase started) {
            request = started;
            if (aborted) {
                started.abort();
            }
        }

        /** For the calling thread: whether the server has certainly not seen the request that was last. */
        boolean isUnsent() {
            // The HTTP client sets it when it begins to send.
            return context == null || context.getAttribute(HttpCoreContext.HTTP_REQ_SENT) == null;
        }
    }

    /** Runs a step whose request belongs to the call; a call may have several, one after the other. */
    <T> T with(Call call, Supplier<T> step) {
        call.context = null;
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
        call.started(ours);
        HttpContext ofCall = new BasicHttpContext();
        call.context = ofCall;
        return client.execute(target, ours, ofCall);
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

    /**
     * Aborts calls whose time is over. A socket's time-out bounds a single read, neither an answer that comes in drips nor a write
     * that nobody reads. A thread looks at all calls now and then, which costs a call less than a timer of its own; it ends when
     * there was no call for a while. Thread-safe.
     */
    static final class Timer implements AutoCloseable {
        static final String THREAD = "semaphore-consul-timer";

        private static final int LOOKS_WITHOUT_CALLS = 20;

        private final long lookNanos;
        private final Set<Call> calls = ConcurrentHashMap.newKeySet();
        private final AtomicReference<@Nullable Thread> thread = new AtomicReference<>();
        private volatile boolean closed;

        /**
         * Creates it.
         *
         * @param lookNanos how often to look, which is how late a call may be aborted
         */
        Timer(long lookNanos) {
            this.lookNanos = lookNanos;
        }

        /** Watches a call until it is removed. Aborts it at once if this is closed. */
        void add(Call call) {
            calls.add(call);
            if (closed) {
                call.abort();
            } else if (thread.get() == null) {
                start();
            }
        }

        void remove(Call call) {
            calls.remove(call);
        }

        private void start() {
            Thread made = new Thread(this::run, THREAD);
            made.setDaemon(true);
            if (thread.compareAndSet(null, made)) {
                boolean started = false;
                try {
                    made.start();
                    started = true;
                } finally {
                    if (!started) {
                        thread.set(null);
                    }
                }
            }
        }

        private void run() {
            int without = 0;
            try (InterruptShield shield = new InterruptShield()) {
                while (!closed && without < LOOKS_WITHOUT_CALLS) {
                    shield.pause(lookNanos);
                    without = calls.isEmpty() ? without + 1 : 0;
                    long now = System.nanoTime();
                    calls.stream().filter(call -> call.end().isPast(now)).forEach(Call::abort);
                }
            } finally {
                thread.set(null);
            }
            // A call that came just now has seen this thread, and has not started another one.
            if (!closed && !calls.isEmpty()) {
                start();
            }
        }

        /** Aborts all calls, and each that comes. */
        @Override
        public void close() {
            closed = true;
            calls.forEach(Call::abort);
            LockSupport.unpark(thread.get());
        }
    }
}
