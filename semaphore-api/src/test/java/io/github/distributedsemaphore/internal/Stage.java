package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.memory.Link;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.memory.ServerSession;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A client under test, its server, and another client. What happens during a call of the client under test is written down
 * beforehand, for the next call of that kind: before the request reaches the server, or after the server has done it.
 */
final class Stage {
    static final String NAME = "staged";
    static final Duration LEASE = Duration.ofSeconds(9);

    private final Map<String, Deque<Runnable>> before = new HashMap<>();
    private final Map<String, Deque<Runnable>> after = new HashMap<>();
    private final Map<String, RuntimeException> outages = new HashMap<>();
    private final Map<String, Integer> calls = new HashMap<>();

    final SteppedEnvironment environment = new SteppedEnvironment();

    /** Carries exchanges that are started without waiting; null for an adapter that cannot start any. */
    @Nullable
    Executor network;

    /** The most that the server reserves. */
    int epochs = Integer.MAX_VALUE;

    /** What the server says, for an adapter that garbles it. */
    UnaryOperator<ExchangeResult> answers = UnaryOperator.identity();

    /** The sessions of the client under test, for an adapter that misbehaves. */
    UnaryOperator<BackendSession> adapter = UnaryOperator.identity();

    /** Where the newest session reports what it hears. */
    @Nullable
    SessionListener heard;

    /** What the server was asked, by whomever. */
    final List<ExchangeRequest> requests = new ArrayList<>();

    final MemoryServer server = new MemoryServer(environment::nanoTime, LEASE, MemoryServer.ALL, environment::execute) {
        @Override
        protected ExchangeResult exchange(ServerSession session, long sequence, ExchangeRequest request) {
            requests.add(request);
            ExchangeRequest bounded = new ExchangeRequest(
                    request.giveBack(),
                    request.wants(),
                    Math.min(epochs, request.epochs()),
                    request.waiting(),
                    request.attempts());
            return answers.apply(super.exchange(session, sequence, bounded));
        }
    };

    final MemoryBackend backend =
            new MemoryBackend(
                    server,
                    new HolderInfo("host", 1, "tested"),
                    Link.with(what -> play(before, what), what -> play(after, what))) {
                @Override
                protected @Nullable Executor network() {
                    return network;
                }

                @Override
                public BackendSession open(String name, SessionListener listener) {
                    play(before, "open");
                    heard = listener;
                    return adapter.apply(super.open(name, listener));
                }
            };
    final MemoryBackend otherBackend = new MemoryBackend(server, new HolderInfo("host", 2, "other"));
    final EngineClient client;
    final EngineClient otherClient;
    final DistributedSemaphore semaphore;
    final DistributedSemaphore others;

    /** Takes engine settings as they stand in a URI. */
    Stage(int limit, String settings) {
        client = client(backend, settings);
        semaphore = client.semaphore(NAME);
        otherClient = client(otherBackend, "");
        others = otherClient.semaphore(NAME);
        client.admin().create(NAME, limit);
    }

    Stage(int limit) {
        this(limit, "");
    }

    private EngineClient client(MemoryBackend of, String settings) {
        return new EngineClient(of, ClientSettings.from(BackendUri.parse("memory:?" + settings), of), environment);
    }

    private void play(Map<String, Deque<Runnable>> script, String what) {
        if (script == before) {
            calls.merge(what, 1, Integer::sum);
        }
        Deque<Runnable> planned = script.get(what);
        Runnable action = planned == null ? null : planned.poll();
        if (action != null) {
            action.run();
        }
        RuntimeException outage = outages.get(what);
        if (outage != null && script == before) {
            throw outage;
        }
    }

    /** Plans what happens before the next call of that kind, not yet planned for, reaches the server. */
    void before(String what, Runnable action) {
        before.computeIfAbsent(what, key -> new ArrayDeque<>()).add(action);
    }

    /** Plans what happens after the server has done the next call of that kind, before the client knows. */
    void after(String what, Runnable action) {
        after.computeIfAbsent(what, key -> new ArrayDeque<>()).add(action);
    }

    /** From now on exchanges are started without waiting, and requests and answers travel as tasks of the environment. */
    Stage starting() {
        network = environment::execute;
        // The first exchange opens the session, which is done by a thread that may wait.
        semaphore.tryAcquire().ifPresent(Permit::close);
        calls.clear();
        requests.clear();
        return this;
    }

    /** From now on calls of that kind fail so, without reaching the server. */
    void outage(String what, RuntimeException failure) {
        outages.put(what, failure);
    }

    void outageOver() {
        outages.clear();
    }

    /** The server does the next exchange and its answer is lost. */
    void loseReply() {
        after("exchange", () -> {
            throw new OutcomeUnknownException("the answer was lost", null);
        });
    }

    int calls(String what) {
        return calls.getOrDefault(what, 0);
    }

    Permit take() {
        return semaphore.tryAcquire().orElseThrow();
    }

    Permit takeAsOther() {
        return others.tryAcquire().orElseThrow();
    }

    SemaphoreAdmin otherAdmin() {
        return otherClient.admin();
    }

    int free() {
        return others.availablePermits();
    }

    void pass(Duration time) {
        environment.pass(time.toNanos());
    }

    void passMillis(long millis) {
        environment.pass(millis * 1_000_000);
    }

    void settle() {
        environment.settle();
    }
}
