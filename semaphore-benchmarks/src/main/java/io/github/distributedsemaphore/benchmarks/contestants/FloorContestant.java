package io.github.distributedsemaphore.benchmarks.contestants;

import io.github.distributedsemaphore.benchmarks.cells.Variant;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Two bare commands of Lettuce, on one connection that all threads share as Lettuce means it, or on one for each. */
final class FloorContestant implements Contestant {
    private static final String VALUE = "a value as long as that of a hold";

    private final RedisClient client;
    private final List<StatefulRedisConnection<String, String>> connections = new ArrayList<>();
    private final List<String> keys = new ArrayList<>();

    FloorContestant(Variant variant, String uri) {
        client = RedisClient.create(uri);
        for (int i = 0; i < (variant.ownClients() ? variant.threads() : 1); i++) {
            connections.add(client.connect());
        }
        for (int name = 0; name < variant.names(); name++) {
            keys.add(variant.semaphore(name));
        }
    }

    @Override
    public Pass acquire(int thread, int name) {
        StatefulRedisConnection<String, String> connection = connections.get(connections.size() == 1 ? 0 : thread);
        connection.sync().set(keys.get(name), VALUE);
        return Pass.withoutSlot(() -> connection.sync().set(keys.get(name), VALUE));
    }

    @Override
    public void close() {
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
}
