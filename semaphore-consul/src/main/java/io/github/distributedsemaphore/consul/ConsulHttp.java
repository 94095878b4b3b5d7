package io.github.distributedsemaphore.consul;

import com.ecwid.consul.UrlParameters;
import com.ecwid.consul.transport.HttpResponse;
import com.ecwid.consul.v1.ConsulRawClient;
import com.ecwid.consul.v1.Request;
import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.consul.AbortableHttpClient.Call;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The one way to the server: sends a request, returns the status and the text of the answer, or says that there was none.
 * Every request has a deadline, which holds for waiting for a connection, connecting, writing and reading, and can be aborted;
 * none is sent twice. Uses the raw half of the Consul client, for its typed half cannot read keys with the official flags.
 * Thread-safe.
 */
final class ConsulHttp implements AutoCloseable {
    /** What a server with a leader may take to read its data again. */
    private static final long READ_AGAIN_NANOS = 500_000_000;

    private static final long LONGEST_LOOK_NANOS = 500_000_000;

    private final ConsulSettings settings;
    private final AbortableHttpClient http;
    private final ConsulRawClient client;
    /** So that no thread waits in the HTTP client's pool, which an interrupt would end. Fair: a renewal takes many in a row. */
    private final Semaphore connections;

    private final Duration longest;
    private final AbortableHttpClient.Timer timer;
    private volatile boolean closed;

    /**
     * Creates it; connects to nothing yet.
     *
     * @param longest how long what the caller does may take, however many requests it needs
     * @param connections how many requests can be under way
     */
    ConsulHttp(ConsulSettings settings, Duration longest, int connections) {
        this.settings = settings;
        this.longest = longest;
        this.connections = new Semaphore(connections, true);
        this.timer = new AbortableHttpClient.Timer(Math.min(LONGEST_LOOK_NANOS, longest.toNanos() / 20));
        this.http = new AbortableHttpClient(connections, settings.tls());
        String scheme = settings.tls() == null ? "http://" : "https://";
        this.client = new ConsulRawClient(
                scheme + settings.agent().hostInUri(), settings.agent().port(), http);
    }

    /** Returns a call that waits for news. */
    Call waitingCall() {
        return new Call(longest);
    }

    /** Returns when what begins now has to be over. */
    Deadline end() {
        return Deadline.after(System.nanoTime(), longest);
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

        /** In the words of the port, for an answer that says that nothing was done, and why. */
        SemaphoreException refused(String subject) {
            if (status == 401 || status == 403) {
                return denied(subject, text());
            }
            return new BackendUnavailableException(subject + ": nothing was done, Consul answered " + text(), null);
        }
    }

    /** A request got no answer. */
    static final class NoReplyException extends Exception {
        private static final long serialVersionUID = 1L;

        /** Whether the server has certainly not seen the request. */
        private final boolean unsent;

        NoReplyException(String message, boolean unsent, @Nullable Throwable cause) {
            super(message, cause);
            this.unsent = unsent;
        }

        boolean isUnsent() {
            return unsent;
        }

        /** In the words of the port, for a request that changes nothing, or was not sent. */
        BackendUnavailableException unavailable(String subject) {
            return new BackendUnavailableException(subject + ": nothing was done, " + getMessage(), this);
        }
    }

    Reply get(Deadline end, String endpoint, String... parameters) throws NoReplyException {
        return get(new Call(end), endpoint, parameters);
    }

    Reply get(Call call, String endpoint, String... parameters) throws NoReplyException {
        Request request = request(endpoint, parameters).build();
        return send(call, () -> client.makeGetRequest(request));
    }

    Reply put(Deadline end, String endpoint, String body) throws NoReplyException {
        Request request = request(endpoint)
                .setBinaryContent(body.getBytes(StandardCharsets.UTF_8))
                .build();
        return send(new Call(end), () -> client.makePutRequest(request));
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

    /** A server that has just started knows no token until it has read its data: then it is asked again. */
    private Reply send(Call call, Supplier<HttpResponse> exchange) throws NoReplyException {
        Reply reply = sendOnce(call, exchange);
        if (!reply.isTokenUnknown() || closed) {
            return reply;
        }
        Request leader = request("/v1/status/leader").build();
        if (sendOnce(call, () -> client.makeGetRequest(leader)).body().equals("\"\"")) {
            throw new NoReplyException(
                    "the servers at " + settings + " have no leader yet: " + reply.text(), true, null);
        }
        try (InterruptShield shield = new InterruptShield()) {
            shield.pause(Math.min(READ_AGAIN_NANOS, call.end().nanosFrom(System.nanoTime())));
        }
        return sendOnce(call, exchange);
    }

    private Reply sendOnce(Call call, Supplier<HttpResponse> exchange) throws NoReplyException {
        try (InterruptShield shield = new InterruptShield()) {
            takeConnection(call, shield);
            try {
                call.connected();
                timer.add(call);
                HttpResponse response = http.with(call, exchange);
                String body = response.getContent();
                Long index = response.getConsulIndex();
                return new Reply(response.getStatusCode(), body == null ? "" : body, index == null ? 0 : index);
            } catch (RuntimeException e) {
                // Where one connection leads nowhere, those that wait beside it will not do better.
                http.dropIdle();
                throw noReply(call, e);
            } finally {
                timer.remove(call);
                connections.release();
            }
        }
    }

    private void takeConnection(Call call, InterruptShield shield) throws NoReplyException {
        boolean late = call.end().isPast(System.nanoTime());
        if (late || !InterruptShield.await(connections::tryAcquire, call.end())) {
            String reason = late ? "the time is over" : "all connections to " + settings + " are in use";
            throw new NoReplyException(reason, true, null);
        }
        // An interrupt of the wait is back: in a virtual thread it would close the socket.
        shield.absorb();
    }

    private NoReplyException noReply(Call call, RuntimeException e) {
        Throwable reason = e;
        while (reason.getCause() != null && !(reason instanceof IOException)) {
            reason = reason.getCause();
        }
        String text = call.end().isPast(System.nanoTime()) ? " in time" : ": " + reason;
        return new NoReplyException("no answer from " + settings + text, call.isUnsent(), e);
    }

    static BackendAccessException denied(String subject, String text) {
        return new BackendAccessException(
                subject + ": Consul refused access (" + text
                        + "). The token needs 'write' on the semaphore's key prefix and on sessions",
                null);
    }

    /** Aborts what is under way and refuses what comes. */
    @Override
    public void close() {
        closed = true;
        timer.close();
        http.close();
    }
}
