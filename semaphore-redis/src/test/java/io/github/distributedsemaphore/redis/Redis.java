package io.github.distributedsemaphore.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * What a test has open: clients of the backend, which it drives through the port, and a connection of its own to look at
 * the keys and to change them. The names of its keys begin with a prefix that no other test has, and are gone at the end.
 */
final class Redis implements AutoCloseable {
    private final String address;
    private final List<String> always;
    private final String prefix = "test-" + UUID.randomUUID();
    private final List<SemaphoreBackend> backends = new ArrayList<>();
    private final List<BackendSession> sessions = new ArrayList<>();
    private final RedisClient client;
    private boolean damaged;
    private final StatefulRedisConnection<String, String> connection;

    Redis() {
        this(RedisServer.address());
    }

    /** Takes settings that all of its clients have. */
    Redis(String address, String... always) {
        this.address = address;
        this.always = List.of(always);
        this.client = RedisClient.create(address);
        this.connection = client.connect();
    }

    /** Hears what a session says of its own accord. */
    static final class Ear implements SessionListener {
        final List<Hold> lost = new CopyOnWriteArrayList<>();

        /** How often a session had to wait for something and did so on a thread of the engine. */
        final AtomicInteger executed = new AtomicInteger();

        private final Consumer<Runnable> executor;

        Ear() {
            this.executor = SessionListener.super::execute;
        }

        /** Gives what would be done on a thread of the engine to somebody else. */
        Ear(Consumer<Runnable> executor) {
            this.executor = executor;
        }

        @Override
        public void execute(Runnable task) {
            executed.incrementAndGet();
            executor.accept(task);
        }

        @Override
        public void lost(Collection<Hold> holds, String reason) {
            lost.addAll(holds);
        }

        @Override
        public void ended(String reason) {
            throw new AssertionError("this adapter goes on with the same session");
        }
    }

    /** Plain commands, past the adapter. */
    RedisCommands<String, String> commands() {
        return connection.sync();
    }

    /** How often the server was sent a command, by whomever. */
    long calls(String command) {
        return commands()
                .info("commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_" + command + ":"))
                .mapToLong(line -> Long.parseLong(line.replaceFirst("[^=]*=(\\d+),.*", "$1")))
                .sum();
    }

    RedisLayout layout(String name) {
        return new RedisLayout(prefix, name);
    }

    /** What is stored of a semaphore. */
    StoredState stored(String name) {
        return StoredState.of(commands(), layout(name));
    }

    /** How many slots of a semaphore are held. */
    long held(String name) {
        return stored(name).held();
    }

    /** The test puts things into the stored state that nobody else would: it is not checked at the end. */
    void damages() {
        damaged = true;
    }

    private void checkStoredState() {
        if (damaged) {
            return;
        }
        for (String name : commands().smembers(RedisLayout.names(prefix))) {
            assertThat(stored(name).faults()).as("the stored state of " + name).isEmpty();
        }
    }

    String uri(String... settings) {
        List<String> all = new ArrayList<>(List.of("prefix=" + prefix));
        all.addAll(always);
        all.addAll(List.of(settings));
        return address + "?" + String.join("&", all);
    }

    /** A new client, with its own connections. */
    SemaphoreBackend backend(String... settings) {
        SemaphoreBackend backend =
                new RedisBackendProvider().open(BackendUri.parse(uri(settings)), HolderInfo.ofThisProcess("test"));
        backends.add(backend);
        return backend;
    }

    SemaphoreBackend track(SemaphoreBackend backend) {
        backends.add(backend);
        return backend;
    }

    String prefix() {
        return prefix;
    }

    /** A session of a new client. */
    BackendSession session(String name, String... settings) {
        return session(backend(settings), name, new Ear());
    }

    BackendSession session(SemaphoreBackend backend, String name, SessionListener listener) {
        BackendSession session = backend.open(name, listener);
        sessions.add(session);
        return session;
    }

    /** A client that waits, and hears that something may be free. */
    final class Waiting {
        final BackendSession session;
        final AtomicInteger hints = new AtomicInteger();
        final BackendSession.Watch watch;

        private Waiting(String name, int permits) {
            session = session(name);
            assertThat(await(session, permits).answers()).containsExactly(Answer.FULL);
            watch = session.watch(hints::incrementAndGet);
            // As the engine does: from now on the queue says that this client listens.
            assertThat(await(session, permits).answers()).containsExactly(Answer.FULL);
        }
    }

    Waiting waiting(String name) {
        return waiting(name, 1);
    }

    Waiting waiting(String name, int permits) {
        return new Waiting(name, permits);
    }

    static ExchangeResult ask(BackendSession session, Integer... wants) {
        return session.exchange(new ExchangeRequest(List.of(), List.of(wants), 1, false));
    }

    static ExchangeResult await(BackendSession session, Integer... wants) {
        return session.exchange(new ExchangeRequest(List.of(), List.of(wants), 1, true));
    }

    /** A call with a single attempt, of a client that has waiting callers too. */
    static ExchangeResult tryBesideWaiters(BackendSession session, Integer... wants) {
        return session.exchange(new ExchangeRequest(List.of(), List.of(wants), 1, true, 1));
    }

    static Answer take(BackendSession session, int permits) {
        return ask(session, permits).answers().get(0);
    }

    static List<Hold> takeHolds(BackendSession session, int permits) {
        Answer answer = take(session, permits);
        if (answer instanceof Answer.Granted granted) {
            return granted.holds();
        }
        throw new AssertionError("wanted " + permits + " permits and got " + answer);
    }

    static Hold takeOne(BackendSession session) {
        return takeHolds(session, 1).get(0);
    }

    static ExchangeResult giveBack(BackendSession session, Hold... holds) {
        return session.exchange(new ExchangeRequest(List.of(holds), List.of(), 1, false));
    }

    /** Keys that begin with the prefix of this test. */
    List<String> keys() {
        return commands().keys("{" + prefix + "*");
    }

    @Override
    public void close() {
        try {
            checkStoredState();
            sessions.forEach(BackendSession::close);
            checkStoredState();
        } finally {
            end();
        }
    }

    private void end() {
        sessions.forEach(BackendSession::close);
        backends.forEach(SemaphoreBackend::close);
        keys().forEach(key -> commands().del(key));
        connection.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
}
