package io.github.distributedsemaphore.redis.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.redis.RedisServer;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class RedisConnectorTest {
    private static final int CLIENTS = 8;
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    /** With threads of its own for each client, sixteen of them made half the pairs that they make now. */
    @Test
    void allClientsOfAProcessShareTheirThreads() {
        Set<Thread> before = threads();
        List<RedisConnections> clients = new ArrayList<>();
        try {
            for (int i = 0; i < CLIENTS; i++) {
                clients.add(connected());
            }
            Set<Thread> after = threads();
            after.removeAll(before);

            assertThat(after).hasSizeLessThanOrEqualTo(Runtime.getRuntime().availableProcessors() + 2);

            clients.remove(0).close();
            clients.forEach(RedisConnectorTest::ask);
        } finally {
            clients.forEach(RedisConnections::close);
        }
        await().atMost(Duration.ofSeconds(10))
                .untilAsserted(() -> assertThat(before).containsAll(threads()));
    }

    /** It once took the threads from the others: "Event executor group is terminated". */
    @Test
    void aClientThatIsClosedTwiceTakesTheThreadsFromNoOther() {
        RedisConnections other = connected();
        try {
            RedisConnections twice = connected();
            twice.close();
            twice.close();

            RedisConnections third = connected();
            third.close();
            ask(other);
        } finally {
            other.close();
        }
    }

    @Test
    void aClientThatComesAfterTheLastHasNewThreads() {
        connected().close();
        RedisConnections next = connected();
        try {
            ask(next);
        } finally {
            next.close();
        }
    }

    /** A proxy of five hundred commands took most of the time of the first watch on a busy machine. */
    @Test
    void aConnectionForChannelsHasNoCommandsThatNobodyUses() {
        RedisConnections connections = connected();
        try {
            assertThat(connections.openPubSub("any")).succeedsWithin(PATIENCE).satisfies(connection -> {
                assertThat(connection.sync()).isNull();
                assertThat(connection.reactive()).isNull();
                assertThat(connection.async().subscribe("no-such-channel").toCompletableFuture())
                        .succeedsWithin(PATIENCE);
                connection.close();
            });
        } finally {
            connections.close();
        }
    }

    /** The client has no listener for its end yet. It kept such a connection for ever, and each call on it failed. */
    @Test
    void aConnectionForChannelsThatEndsAtOnceIsReplaced() {
        RedisConnections connections = connected();
        AtomicInteger opened = new AtomicInteger();
        RedisChannels.Opening endsFirst = channel -> connections
                .openPubSub(channel)
                .thenCompose(connection -> opened.getAndIncrement() > 0
                        ? CompletableFuture.completedFuture(connection)
                        : connection.closeAsync().thenApply(ended -> connection));
        try (RedisChannels channels = new RedisChannels(connections, endsFirst)) {
            Consumer<String> listener = message -> {};
            assertThatThrownBy(() -> channels.listen("any", listener, connections.callDeadline()))
                    .isInstanceOf(BackendUnavailableException.class);

            channels.listen("any", listener, connections.callDeadline());
            assertThat(opened).hasValue(2);
        } finally {
            connections.close();
        }
    }

    /** As if it broke between the look whether it is open and the sending. */
    @Test
    void whatIsSentOnAConnectionThatIsClosedFailsWhereItsReplyWouldCome() {
        RedisConnections connections = connected();
        try {
            RedisWire wire = connections.open("key", connections.callDeadline());
            wire.close();
            CommandBatch batch = new CommandBatch();
            batch.add(RedisVerb.EXISTS, "no-such-key");
            CompletableFuture<Supplier<Replies>> answer = new CompletableFuture<>();
            wire.send(batch, answer::complete);

            assertThat(answer)
                    .succeedsWithin(PATIENCE)
                    .satisfies(replies -> assertThatThrownBy(replies::get).isInstanceOf(WireException.class));
        } finally {
            connections.close();
        }
    }

    /** The other client keeps the threads alive. */
    @Test
    void aClientThatIsClosedWhileItConnectsLeavesNoConnection() throws Exception {
        RedisConnections other = connected();
        ExecutorService threads = Executors.newCachedThreadPool();
        CountDownLatch connecting = new CountDownLatch(1);
        AtomicInteger accepted = new AtomicInteger();
        AtomicInteger ended = new AtomicInteger();
        try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Future<?> accepting = threads.submit(() -> {
                while (true) {
                    Socket socket = server.accept();
                    boolean silent = accepted.incrementAndGet() == 1;
                    Future<?> unused = threads.submit(() -> {
                        serve(socket, silent, connecting);
                        return ended.incrementAndGet();
                    });
                }
            });
            RedisConnections closed =
                    new RedisConnections(settings("redis://127.0.0.1:" + server.getLocalPort()), false);
            Future<RedisWire> opening = threads.submit(() -> closed.open("key", closed.callDeadline()));
            assertThat(connecting.await(10, TimeUnit.SECONDS)).isTrue();

            closed.close();

            assertThatThrownBy(() -> opening.get(10, TimeUnit.SECONDS)).isInstanceOf(ExecutionException.class);
            await().untilAsserted(() -> assertThat(ended).hasValue(accepted.get()));
            assertThat(accepting).isNotDone();
        } finally {
            other.close();
            threads.shutdownNow();
        }
    }

    /** Answers each command, or none, until the client ends the connection. */
    private static void serve(Socket socket, boolean silent, CountDownLatch asked) throws IOException {
        try (socket;
                BufferedReader lines =
                        new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("*") && !silent) {
                    socket.getOutputStream().write("+OK\r\n".getBytes(StandardCharsets.US_ASCII));
                }
                asked.countDown();
            }
        }
    }

    private static ServerSettings settings(String uri) {
        return ServerSettings.from(BackendUri.parse(uri), Duration.ofSeconds(2));
    }

    private static RedisConnections connected() {
        RedisConnections connections = new RedisConnections(settings(RedisServer.address()), true);
        ask(connections);
        return connections;
    }

    private static void ask(RedisConnections connections) {
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.EXISTS, "no-such-key");
        Replies unused = connections.ask("test", "no-such-key", batch, connections.callDeadline());
    }

    private static Set<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("lettuce-"))
                .collect(Collectors.toSet());
    }
}
