package io.github.distributedsemaphore.redis.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.redis.RedisServer;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class RedisConnectorTest {
    private static final int CLIENTS = 8;

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

    private static RedisConnections connected() {
        RedisConnections connections = new RedisConnections(
                ServerSettings.from(BackendUri.parse(RedisServer.address()), Duration.ofSeconds(2)), true);
        ask(connections);
        return connections;
    }

    private static void ask(RedisConnections connections) {
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.EXISTS, "no-such-key");
        connections.ask("no-such-key", batch, connections.callDeadline()).requireAll();
    }

    private static Set<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("lettuce-"))
                .collect(Collectors.toSet());
    }
}
