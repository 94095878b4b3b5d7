package io.github.distributedsemaphore.consul.net;

import com.ecwid.consul.UrlParameters;
import com.ecwid.consul.transport.HttpResponse;
import com.ecwid.consul.v1.ConsulRawClient;
import com.ecwid.consul.v1.Request;
import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import org.apache.http.conn.DnsResolver;
import org.apache.http.impl.conn.SystemDefaultDnsResolver;
import org.jspecify.annotations.Nullable;

/**
 * The one way to the server: sends a request, returns the status and the text of the answer, or says that there was none.
 * Every request has a deadline, which holds for waiting for a connection, connecting, writing and reading, and can be aborted;
 * none is sent twice. Uses the raw half of the Consul client, for its typed half cannot read keys with the official flags.
 * Thread-safe.
 */
public final class ConsulHttp implements AutoCloseable {
    /** What a server with a leader may take to read its data again. */
    private static final long READ_AGAIN_NANOS = 500_000_000;

    private static final long LONGEST_LOOK_NANOS = 500_000_000;

    private final HostAndPort agent;
    private final String token;
    private final String datacenter;
    private final AbortableHttpClient http;
    private final ConsulRawClient client;
    /** So that no thread waits in the HTTP client's pool, which an interrupt would end. Fair: a renewal takes many in a row. */
    private final Semaphore connections;

    private final Duration longest;
    private final CallTimer timer;
    private volatile boolean closed;

    /**
     * Creates it; connects to nothing yet.
     *
     * @param agent where the agent listens
     * @param tls the certificates of the other side and our own; null for a connection in clear
     * @param token the ACL token, which is sent in a header; empty for none
     * @param datacenter where the requests go; empty for the agent's own
     * @param longest how long what the caller does may take, however many requests it needs
     * @param connections how many requests can be under way
     */
    public ConsulHttp(
            HostAndPort agent,
            @Nullable SSLContext tls,
            String token,
            String datacenter,
            Duration longest,
            int connections) {
        this(agent, tls, token, datacenter, longest, connections, SystemDefaultDnsResolver.INSTANCE);
    }

    /** With another way to find the addresses of the agent's host, for tests. */
    ConsulHttp(
            HostAndPort agent,
            @Nullable SSLContext tls,
            String token,
            String datacenter,
            Duration longest,
            int connections,
            DnsResolver names) {
        this.agent = agent;
        this.token = token;
        this.datacenter = datacenter;
        this.longest = longest;
        this.connections = new Semaphore(connections, true);
        this.timer = new CallTimer(Math.min(LONGEST_LOOK_NANOS, longest.toNanos() / 20));
        this.http = new AbortableHttpClient(connections, tls, names);
        String scheme = tls == null ? "http://" : "https://";
        this.client = new ConsulRawClient(scheme + agent.hostInUri(), agent.port(), http);
    }

    /**
     * Returns a call that waits for news.
     *
     * @return the call, whose time runs
     */
    public Call waitingCall() {
        return new Call(longest);
    }

    /**
     * Returns when what begins now has to be over.
     *
     * @return the deadline
     */
    public Deadline end() {
        return Deadline.after(System.nanoTime(), longest);
    }

    /**
     * An answer.
     *
     * @param status the HTTP status
     * @param body the text, empty if there is none
     * @param index the value of {@code X-Consul-Index}, 0 if there is none
     */
    public record Reply(int status, String body, long index) {
        /**
         * Whether the server did what was asked.
         *
         * @return whether the status is 200
         */
        public boolean isOk() {
            return status == 200;
        }

        /** Whether the server does not know the token, or has not read again yet that it does. */
        private boolean isTokenUnknown() {
            return status == 403 && body.contains("ACL not found");
        }

        /**
         * What the server said, for a message.
         *
         * @return status and the beginning of the text
         */
        public String text() {
            String line = body.strip();
            return "status " + status + ": " + (line.length() > 300 ? line.substring(0, 300) + "..." : line);
        }

        /**
         * In the words of the port, for an answer that says that nothing was done, and why.
         *
         * @param subject what the request was about
         * @return what to throw
         */
        public SemaphoreException refused(String subject) {
            if (status == 401 || status == 403) {
                return denied(subject, text());
            }
            return new BackendUnavailableException(subject + ": nothing was done, Consul answered " + text(), null);
        }
    }

    /** A request got no answer. */
    public static final class NoReplyException extends Exception {
        private static final long serialVersionUID = 1L;

        private final boolean unsent;

        NoReplyException(String message, boolean unsent, @Nullable Throwable cause) {
            super(message, cause);
            this.unsent = unsent;
        }

        /**
         * Whether the server has certainly not seen the request.
         *
         * @return false also if that is not known
         */
        public boolean isUnsent() {
            return unsent;
        }

        /**
         * In the words of the port, for a request that changes nothing, or was not sent.
         *
         * @param subject what the request was about
         * @return what to throw
         */
        public BackendUnavailableException unavailable(String subject) {
            return new BackendUnavailableException(subject + ": nothing was done, " + getMessage(), this);
        }
    }

    /**
     * Reads.
     *
     * @param end when to give up
     * @param endpoint the path
     * @param parameters of the query, as they stand in an address
     * @return the answer, whatever its status
     * @throws NoReplyException if there is none
     */
    public Reply get(Deadline end, String endpoint, String... parameters) throws NoReplyException {
        return get(new Call(end), endpoint, parameters);
    }

    /**
     * Reads as a part of a call, which can be aborted.
     *
     * @param call what the request belongs to
     * @param endpoint the path
     * @param parameters of the query, as they stand in an address
     * @return the answer, whatever its status
     * @throws NoReplyException if there is none
     */
    public Reply get(Call call, String endpoint, String... parameters) throws NoReplyException {
        Request request = request(endpoint, parameters).build();
        return send(call, () -> client.makeGetRequest(request));
    }

    /**
     * Changes something.
     *
     * @param end when to give up
     * @param endpoint the path
     * @param body what to send
     * @return the answer, whatever its status
     * @throws NoReplyException if there is none; it says whether the request was sent
     */
    public Reply put(Deadline end, String endpoint, String body) throws NoReplyException {
        Request request = request(endpoint)
                .setBinaryContent(body.getBytes(StandardCharsets.UTF_8))
                .build();
        return send(new Call(end), () -> client.makePutRequest(request));
    }

    private Request.Builder request(String endpoint, String... parameters) {
        List<String> query = new ArrayList<>(List.of(parameters));
        if (!datacenter.isEmpty()) {
            query.add("dc=" + datacenter);
        }
        UrlParameters all = () -> query;
        Request.Builder builder =
                Request.Builder.newBuilder().setEndpoint(endpoint).addUrlParameter(all);
        return token.isEmpty() ? builder : builder.setToken(token);
    }

    /** A server that has just started knows no token until it has read its data: then it is asked again. */
    private Reply send(Call call, Supplier<HttpResponse> exchange) throws NoReplyException {
        Reply reply = sendOnce(call, exchange);
        if (!reply.isTokenUnknown() || closed) {
            return reply;
        }
        Request leader = request("/v1/status/leader").build();
        if (sendOnce(call, () -> client.makeGetRequest(leader)).body().equals("\"\"")) {
            throw new NoReplyException("the servers at " + agent + " have no leader yet: " + reply.text(), true, null);
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
            String reason = late ? "the time is over" : "all connections to " + agent + " are in use";
            throw new NoReplyException(reason, true, null);
        }
        // An interrupt of the wait is back, and it is none of the request.
        shield.absorb();
    }

    private NoReplyException noReply(Call call, RuntimeException e) {
        Throwable reason = e;
        while (reason.getCause() != null && !(reason instanceof IOException)) {
            reason = reason.getCause();
        }
        String text = call.end().isPast(System.nanoTime()) ? " in time" : ": " + reason;
        return new NoReplyException("no answer from " + agent + text, call.isUnsent(), e);
    }

    /**
     * In the words of the port, for an answer that says that a right is missing.
     *
     * @param subject what the request was about
     * @param text what the server said
     * @return what to throw
     */
    public static BackendAccessException denied(String subject, String text) {
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
