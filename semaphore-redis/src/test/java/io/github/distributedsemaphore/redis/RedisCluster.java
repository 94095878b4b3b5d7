package io.github.distributedsemaphore.redis;

import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A cluster of three masters on this machine. */
final class RedisCluster implements AutoCloseable {
    private static final int NODES = 3;

    private final List<RedisServer> nodes = new ArrayList<>();
    private final List<String> ids = new ArrayList<>();

    RedisCluster() {
        List<Integer> busPorts = new ArrayList<>();
        for (int i = 0; i < NODES; i++) {
            int busPort = RedisServer.freePort();
            busPorts.add(busPort);
            nodes.add(RedisServer.start(
                    "--cluster-enabled",
                    "yes",
                    "--cluster-port",
                    Integer.toString(busPort),
                    "--cluster-node-timeout",
                    "2000"));
        }
        for (int i = 0; i < NODES; i++) {
            RedisServer node = nodes.get(i);
            ids.add(node.bulk("CLUSTER MYID"));
            int first = firstSlot(i);
            require(node, "CLUSTER ADDSLOTSRANGE " + first + " " + (firstSlot(i + 1) - 1));
            require(node, "CLUSTER SET-CONFIG-EPOCH " + (i + 1));
            if (i > 0) {
                require(nodes.get(0), "CLUSTER MEET 127.0.0.1 " + node.port() + " " + busPorts.get(i));
            }
        }
        for (RedisServer node : nodes) {
            await().atMost(Duration.ofSeconds(60))
                    .until(() -> node.bulk("CLUSTER INFO").contains("cluster_state:ok")
                            && node.bulk("CLUSTER INFO").contains("cluster_known_nodes:" + NODES));
        }
    }

    private static int firstSlot(int node) {
        return SlotHash.SLOT_COUNT * node / NODES;
    }

    private static void require(RedisServer node, String command) {
        String said = node.say(command);
        if (!said.equals("+OK")) {
            throw new IllegalStateException(command + ": " + said);
        }
    }

    String uri() {
        return "redis-cluster://127.0.0.1:" + nodes.get(0).port() + "," + "127.0.0.1:"
                + nodes.get(1).port();
    }

    /** Which node has a key as the cluster was made. */
    int nodeOf(String key) {
        int slot = SlotHash.getSlot(key);
        int node = 0;
        while (slot >= firstSlot(node + 1)) {
            node++;
        }
        return node;
    }

    RedisServer node(int index) {
        return nodes.get(index);
    }

    /** Begins to move the slot of a key, with one of its keys, which others have to wait for. */
    void beginToMove(String key, int to) {
        int slot = SlotHash.getSlot(key);
        int from = nodeOf(key);
        require(nodes.get(to), "CLUSTER SETSLOT " + slot + " IMPORTING " + ids.get(from));
        require(nodes.get(from), "CLUSTER SETSLOT " + slot + " MIGRATING " + ids.get(to));
        require(nodes.get(from), "MIGRATE 127.0.0.1 " + nodes.get(to).port() + " " + key + " 0 5000");
    }

    void endMove(String key, int to) {
        int slot = SlotHash.getSlot(key);
        int from = nodeOf(key);
        RedisClient client = RedisClient.create(nodes.get(from).uri());
        try (var connection = client.connect()) {
            for (String left : connection.sync().clusterGetKeysInSlot(slot, 100)) {
                require(nodes.get(from), "MIGRATE 127.0.0.1 " + nodes.get(to).port() + " " + left + " 0 5000");
            }
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
        require(nodes.get(to), "CLUSTER SETSLOT " + slot + " NODE " + ids.get(to));
        require(nodes.get(from), "CLUSTER SETSLOT " + slot + " NODE " + ids.get(to));
    }

    @Override
    public void close() {
        nodes.forEach(RedisServer::close);
    }
}
