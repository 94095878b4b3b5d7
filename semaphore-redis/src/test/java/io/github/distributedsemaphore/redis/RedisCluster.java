package io.github.distributedsemaphore.redis;

import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.cluster.SlotHash;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A cluster of three masters on this machine. */
final class RedisCluster implements AutoCloseable {
    private static final int MASTERS = 3;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final List<String> tls;
    private final List<RedisServer> nodes = new ArrayList<>();
    private final List<Integer> ports = new ArrayList<>();
    private final List<String> ids = new ArrayList<>();

    /**
     * Starts it.
     *
     * @param tls the options for encrypted connections; none for plain ones
     */
    RedisCluster(String... tls) {
        this.tls = List.of(tls);
        for (int i = 0; i < MASTERS; i++) {
            RedisServer node = startNode();
            String slots = IntStream.range(firstSlot(i), firstSlot(i + 1))
                    .mapToObj(Integer::toString)
                    .collect(Collectors.joining(" "));
            require(node, "CLUSTER ADDSLOTS " + slots);
            require(node, "CLUSTER SET-CONFIG-EPOCH " + (i + 1));
            if (i > 0) {
                meet(i);
            }
        }
        for (RedisServer node : nodes) {
            await().atMost(PATIENCE)
                    .until(() -> node.bulk("CLUSTER INFO").contains("cluster_state:ok")
                            && node.bulk("CLUSTER INFO").contains("cluster_known_nodes:" + MASTERS));
        }
    }

    private RedisServer startNode() {
        List<String> options = new ArrayList<>(tls);
        int port = FreePort.ofNode();
        if (!tls.isEmpty()) {
            options.addAll(List.of("--tls-cluster", "yes", "--tls-replication", "yes"));
            options.addAll(List.of("--tls-port", Integer.toString(port)));
        }
        RedisServer node = RedisServer.startNode(options.toArray(String[]::new));
        nodes.add(node);
        ports.add(tls.isEmpty() ? node.port() : port);
        ids.add(node.bulk("CLUSTER MYID"));
        return node;
    }

    private void meet(int node) {
        require(nodes.get(0), "CLUSTER MEET 127.0.0.1 " + ports.get(node));
    }

    private static int firstSlot(int node) {
        return SlotHash.SLOT_COUNT * node / MASTERS;
    }

    private static void require(RedisServer node, String command) {
        String said = node.say(command);
        if (!said.equals("+OK")) {
            throw new IllegalStateException(command + ": " + said);
        }
    }

    /** Adds a replica of a master, which takes its place when that fails; it has the data when this returns. */
    void addReplica(int of) {
        RedisServer replica = startNode();
        meet(nodes.size() - 1);
        await().atMost(PATIENCE)
                .until(() -> replica.say("CLUSTER REPLICATE " + ids.get(of)).equals("+OK"));
        await().atMost(PATIENCE).until(() -> replica.bulk("INFO replication").contains("master_link_status:up"));
        // Only whom all masters know is elected.
        for (RedisServer node : nodes) {
            await().atMost(PATIENCE)
                    .until(() -> node.bulk("CLUSTER INFO").contains("cluster_known_nodes:" + nodes.size()));
        }
    }

    /** Returns when the replica that was added last has what a master has written. */
    void awaitReplica(int of) {
        RedisServer replica = nodes.get(nodes.size() - 1);
        await().atMost(PATIENCE)
                .until(() -> entry(replica, "slave_repl_offset:").equals(entry(nodes.get(of), "master_repl_offset:")));
    }

    private static String entry(RedisServer node, String name) {
        return node.bulk("INFO replication")
                .lines()
                .filter(line -> line.startsWith(name))
                .map(line -> line.substring(name.length()))
                .findFirst()
                .orElse(name + " is missing");
    }

    String uri() {
        String scheme = tls.isEmpty() ? "redis-cluster" : "rediss-cluster";
        return scheme + "://127.0.0.1:" + ports.get(0) + ",127.0.0.1:" + ports.get(1);
    }

    private static int slotOf(String key) {
        return SlotHash.getSlot(key.getBytes(StandardCharsets.UTF_8));
    }

    /** Which node has a key as the cluster was made. */
    int nodeOf(String key) {
        int slot = slotOf(key);
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
        int slot = slotOf(key);
        int from = nodeOf(key);
        require(nodes.get(to), "CLUSTER SETSLOT " + slot + " IMPORTING " + ids.get(from));
        require(nodes.get(from), "CLUSTER SETSLOT " + slot + " MIGRATING " + ids.get(to));
        require(nodes.get(from), "MIGRATE 127.0.0.1 " + nodes.get(to).port() + " " + key + " 0 5000");
    }

    void endMove(String key, int to) {
        int slot = slotOf(key);
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
