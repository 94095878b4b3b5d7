package io.github.distributedsemaphore.consul;

import java.io.IOException;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import org.apache.http.HttpHost;
import org.apache.http.HttpRequest;
import org.apache.http.client.ClientProtocolException;
import org.apache.http.client.config.RequestConfig;
import org.apache.http.client.methods.CloseableHttpResponse;
import org.apache.http.client.methods.HttpUriRequest;
import org.apache.http.config.RegistryBuilder;
import org.apache.http.conn.socket.ConnectionSocketFactory;
import org.apache.http.conn.socket.PlainConnectionSocketFactory;
import org.apache.http.conn.ssl.SSLConnectionSocketFactory;
import org.apache.http.impl.client.CloseableHttpClient;
import org.apache.http.impl.client.HttpClients;
import org.apache.http.impl.conn.PoolingHttpClientConnectionManager;
import org.apache.http.protocol.HttpContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An HTTP client whose requests can be aborted from outside, although the library between makes them itself and an
 * interrupt does not end a blocked read. With a pool and time-outs of its own, and without automatic repetition.
 */
final class AbortableHttpClient extends CloseableHttpClient {
    private static final Logger LOG = LoggerFactory.getLogger(AbortableHttpClient.class);
    private static final ThreadLocal<@Nullable Handle> CURRENT = new ThreadLocal<>();

    private final CloseableHttpClient client;

    /**
     * Creates it; connects to nothing yet.
     *
     * @param tls whom to trust and who we are, for {@code https}; null if that is not used
     */
    AbortableHttpClient(int connectMillis, int answerMillis, int maxConnections, @Nullable SSLContext tls) {
        RegistryBuilder<ConnectionSocketFactory> sockets = RegistryBuilder.<ConnectionSocketFactory>create()
                .register("http", PlainConnectionSocketFactory.getSocketFactory());
        if (tls != null) {
            sockets.register("https", new SSLConnectionSocketFactory(tls));
        }
        PoolingHttpClientConnectionManager connections = new PoolingHttpClientConnectionManager(sockets.build());
        connections.setMaxTotal(maxConnections);
        connections.setDefaultMaxPerRoute(maxConnections);
        // A connection that was idle for longer is tried before use: the agent may have been restarted.
        connections.setValidateAfterInactivity(500);
        this.client = HttpClients.custom()
                .setConnectionManager(connections)
                .setDefaultRequestConfig(RequestConfig.custom()
                        .setConnectTimeout(connectMillis)
                        .setConnectionRequestTimeout(connectMillis)
                        .setSocketTimeout(answerMillis)
                        .build())
                .disableAutomaticRetries()
                .disableCookieManagement()
                // The server would compress even its shortest answers, which takes longer than to send them.
                .disableContentCompression()
                .disableRedirectHandling()
                .build();
    }

    /** What aborts one request. */
    static final class Handle {
        private boolean aborted;
        private @Nullable HttpUriRequest request;

        synchronized void abort() {
            aborted = true;
            if (request != null) {
                request.abort();
            }
        }

        private synchronized void started(HttpUriRequest started) {
            request = started;
            if (aborted) {
                started.abort();
            }
        }
    }

    /** Runs a step whose request can be aborted by the handle. */
    <T> T with(Handle handle, Supplier<T> step) {
        CURRENT.set(handle);
        try {
            return step.get();
        } finally {
            CURRENT.remove();
        }
    }

    @Override
    protected CloseableHttpResponse doExecute(HttpHost target, HttpRequest request, @Nullable HttpContext context)
            throws IOException, ClientProtocolException {
        Handle handle = CURRENT.get();
        if (handle != null && request instanceof HttpUriRequest abortable) {
            handle.started(abortable);
        }
        return client.execute(target, request, context);
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
