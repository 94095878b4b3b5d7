package io.github.distributedsemaphore.consul;

import com.ecwid.consul.ConsulException;
import com.ecwid.consul.UrlParameters;
import com.ecwid.consul.transport.HttpResponse;
import com.ecwid.consul.v1.ConsulRawClient;
import com.ecwid.consul.v1.Request;
import io.github.distributedsemaphore.spi.InterruptShield;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.http.conn.ConnectTimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The one way to the server: sends a request, returns the status and the text of the answer, or says that there was none.
 * Every request is bounded in time and can be aborted; none is sent twice. Uses the raw half of the Consul client, for its
 * typed half cannot read keys with the official flags. Thread-safe.
 */
final class ConsulHttp implements AutoCloseable {
    static final int CONNECT_MILLIS = 2_000;

    /** What a server with a leader may take to read its data again. */
    private static final long READ_AGAIN_NANOS = 500_000_000;

    private final ConsulSettings settings;
    private final AbortableHttpClient http;
    private final ConsulRawClient client;
    /** So that no thread waits in the HTTP client's pool, which an interrupt would end. */
    private final Semaphore connections;

    private final Duration answerWithin;
    private final Set<Call> calls = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    ConsulHttp(ConsulSettings settings, Duration answerWithin, int connections) {
        this.settings = settings;
        this.answerWithin = answerWithin;
        this.connections = new Semaphore(connections);
        this.http = new AbortableHttpClient(
                CONNECT_MILLIS, Math.toIntExact(answerWithin.toMillis()), connections, settings.tls());
        String scheme = settings.tls() == null ? "http://" : "https://";
        this.client = new ConsulRawClient(scheme + settings.host(), settings.port(), http);
    }

    /**
     * An answer.
     *
     * @param status the HTTP status
     * @param body the text, empty if there is none
     * @param index the value of {@code X-Consul-Index}, 0 if there is none
     */
    record Reply(int status, String body, long index) {
        boolean isOk() {
            return status == 200;
        }

        /** Whether the server does not know the token, or has not read again yet that it does. */
        private boolean isTokenUnknown() {
            return status == 403 && body.contains("ACL not found");
        }

        /** What the server said, for a message: status and the beginning of the text. */
        String text() {
            String line = body.strip();
            return "status " + status + ": " + (line.length() > 300 ? line.substring(0, 300) + "..." : line);
        }
    }

    /** A request that another thread can abort. */
    static final class Call {
        private final AbortableHttpClient.Handle handle = new AbortableHttpClient.Handle();

        /** Ends the request, also if it is only about to be sent. */
        void abort() {
            handle.abort();
        }
    }

    Reply get(String endpoint, String... parameters) throws NoReplyException {
        return get(new Call(), endpoint, parameters);
    }

    Reply get(Call call, String endpoint, String... parameters) throws NoReplyException {
        Request request = request(endpoint, parameters).build();
        return send(call, () -> client.makeGetRequest(request));
    }

    Reply put(String endpoint, String body, String... parameters) throws NoReplyException {
        Request request = request(endpoint, parameters)
                .setBinaryContent(body.getBytes(StandardCharsets.UTF_8))
                .build();
        return send(new Call(), () -> client.makePutRequest(request));
    }

    private Request.Builder request(String endpoint, String... parameters) {
        List<String> query = new ArrayList<>(List.of(parameters));
        if (!settings.datacenter().isEmpty()) {
            query.add("dc=" + settings.datacenter());
        }
        UrlParameters all = () -> query;
        Request.Builder builder =
                Request.Builder.newBuilder().setEndpoint(endpoint).addUrlParameter(all);
        return settings.token().isEmpty() ? builder : builder.setToken(settings.token());
    }

    @FunctionalInterface
    private interface Exchange {
        HttpResponse perform();
    }

    /** A server that has just started knows no token until it has read its data: then it is asked again. */
    private Reply send(Call call, Exchange exchange) throws NoReplyException {
        Reply reply = sendOnce(call, exchange);
        if (!reply.isTokenUnknown() || closed) {
            return reply;
        }
        Request leader = request("/v1/status/leader").build();
        if (sendOnce(call, () -> client.makeGetRequest(leader)).body().equals("\"\"")) {
            throw new NoReplyException(
                    "the servers at " + settings + " have no leader yet",
                    true,
                    new IllegalStateException(reply.text()));
        }
        try (InterruptShield shield = new InterruptShield()) {
            shield.pause(READ_AGAIN_NANOS);
        }
        return sendOnce(call, exchange);
    }

    private Reply sendOnce(Call call, Exchange exchange) throws NoReplyException {
        try (InterruptShield shield = new InterruptShield()) {
            takeConnection(shield);
            calls.add(call);
            try {
                if (closed) {
                    call.abort();
                }
                HttpResponse response = http.with(call.handle, exchange::perform);
                String body = response.getContent();
                Long index = response.getConsulIndex();
                return new Reply(response.getStatusCode(), body == null ? "" : body, index == null ? 0 : index);
            } catch (ConsulException | IllegalStateException e) {
                throw noReply(e);
            } finally {
                calls.remove(call);
                connections.release();
            }
        }
    }

    private void takeConnection(InterruptShield shield) throws NoReplyException {
        long deadline = System.nanoTime() + answerWithin.toNanos();
        while (true) {
            try {
                if (connections.tryAcquire(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                    return;
                }
                throw new NoReplyException(
                        "all connections to " + settings + " are in use",
                        true,
                        new IllegalStateException("no connection"));
            } catch (InterruptedException e) {
                shield.absorb(e);
            }
        }
    }

    private NoReplyException noReply(RuntimeException e) {
        Throwable reason = e;
        while (reason.getCause() != null && !isUnsent(reason)) {
            reason = reason.getCause();
        }
        return new NoReplyException("no answer from " + settings + ": " + reason, isUnsent(reason), e);
    }

    private static boolean isUnsent(@Nullable Throwable reason) {
        return reason instanceof ConnectException
                || reason instanceof ConnectTimeoutException
                || reason instanceof UnknownHostException
                || reason instanceof NoRouteToHostException;
    }

    /** Aborts what is under way and refuses what comes. */
    @Override
    public void close() {
        closed = true;
        calls.forEach(Call::abort);
        http.close();
    }
}
