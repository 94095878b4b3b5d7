package io.github.distributedsemaphore.memory;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The client's end of a session: numbers its exchanges and counts validity from before each request. */
final class MemorySession implements BackendSession {
    private final MemoryBackend backend;
    private final ServerSession session;
    private long sequence;
    private volatile boolean aborted;

    MemorySession(MemoryBackend backend, ServerSession session) {
        this.backend = backend;
        this.session = session;
    }

    @Override
    public ExchangeResult exchange(ExchangeRequest request) {
        long number = ++sequence;
        return timed("exchange", () -> server().exchange(session, number, request));
    }

    @Override
    public @Nullable CompletionStage<ExchangeResult> start(ExchangeRequest request) {
        Executor network = backend.network();
        if (network == MemoryBackend.AT_ONCE) {
            return CompletableFuture.completedFuture(exchange(request));
        }
        return network == null ? null : CompletableFuture.supplyAsync(() -> exchange(request), network);
    }

    @Override
    public ExchangeResult resolve(ExchangeRequest request) {
        return timed("resolve", () -> server().resolve(session, sequence, request));
    }

    private ExchangeResult timed(String what, Supplier<ExchangeResult> onServer) {
        long sent = server().now();
        ExchangeResult result = call(what, onServer);
        return result.toBuilder().validUntil(server().leaseFrom(sent)).build();
    }

    @Override
    public Renewal renew(Collection<Hold> holds) {
        long sent = server().now();
        Renewal renewal = call("renew", () -> server().renew(session, holds));
        return new Renewal(server().leaseFrom(sent), renewal.lost(), renewal.retired());
    }

    @Override
    public Duration renewEvery() {
        return backend.renewEvery();
    }

    @Override
    public HoldState check(Hold hold) {
        return call("check", () -> server().check(session, hold));
    }

    @Override
    public Watch watch(Runnable hint) {
        call("watch", () -> {
            server().watch(session, hint);
            return true;
        });
        return () -> server().watch(session, null);
    }

    @Override
    public void close() {
        try {
            call("close", () -> {
                server().close(session);
                return true;
            });
        } catch (SemaphoreException e) {
            // Not told: for the server this client has gone without a word.
            server().vanish(session);
        }
    }

    @Override
    public void abort() {
        aborted = true;
        server().vanish(session);
    }

    private MemoryServer server() {
        return backend.server();
    }

    private <T> T call(String what, Supplier<T> onServer) {
        if (aborted) {
            throw new BackendUnavailableException("The session for '" + session.name + "' was aborted", null);
        }
        return backend.call(what, onServer);
    }
}
