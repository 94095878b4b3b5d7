package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.tck.cluster.Cluster;
import io.github.distributedsemaphore.tck.cluster.ClusterTck;
import io.github.distributedsemaphore.tck.cluster.Host;
import io.github.distributedsemaphore.tck.cluster.Network;
import io.github.distributedsemaphore.tck.cluster.Node;
import io.github.distributedsemaphore.tck.harness.ProcessServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** One primary, two replicas, and a sentinel beside each, under partitions. */
class SentinelPartitionTest extends ClusterTck {
    @Override
    protected Cluster start(Network network) throws IOException {
        return new Sentinels(network, "");
    }

    /** Three hosts, each with a server and a sentinel. */
    static final class Sentinels implements Cluster {
        private static final int SIZE = 3;
        private static final int PORT = 6379;
        private static final int SENTINEL = 26379;
        private static final String MASTER = "main";

        private final Path folder = Files.createTempDirectory("redis-sentinels");
        private final List<Node> nodes = new ArrayList<>();
        private final String settings;

        Sentinels(Network network, String settings) throws IOException {
            this.settings = settings;
            for (int i = 0; i < SIZE; i++) {
                Host host = network.add("redis" + i);
                Path home = Files.createDirectories(folder.resolve(host.name()));
                String primary = i == 0 ? host.address() : nodes.get(0).host().address();
                Files.write(home.resolve("redis.conf"), server(host, home, primary));
                Files.write(home.resolve("sentinel.conf"), sentinel(host, home, primary));
                Node node = new Node(
                        host,
                        home,
                        List.of(
                                List.of(
                                        "redis-server",
                                        home.resolve("redis.conf").toString()),
                                List.of(
                                        "redis-server",
                                        home.resolve("sentinel.conf").toString(),
                                        "--sentinel")),
                        Map.of());
                node.start();
                nodes.add(node);
            }
        }

        private static List<String> server(Host host, Path home, String primary) {
            List<String> lines = new ArrayList<>(List.of(
                    "bind " + host.address(),
                    "port " + PORT,
                    "protected-mode no",
                    "dir " + home.resolve("data"),
                    "save \"\"",
                    "appendonly yes",
                    "repl-timeout 5",
                    "repl-ping-replica-period 1",
                    "repl-diskless-sync-delay 0"));
            if (!primary.equals(host.address())) {
                lines.add("replicaof " + primary + " " + PORT);
            }
            return lines;
        }

        /** Much quicker than by default, where a primary counts as dead after 30 seconds. */
        private static List<String> sentinel(Host host, Path home, String primary) {
            return List.of(
                    "bind " + host.address(),
                    "port " + SENTINEL,
                    "protected-mode no",
                    "dir " + home,
                    "sentinel monitor " + MASTER + " " + primary + " " + PORT + " 2",
                    "sentinel down-after-milliseconds " + MASTER + " 1500",
                    "sentinel failover-timeout " + MASTER + " 6000");
        }

        @Override
        public String form() {
            String version = nodes.stream()
                    .map(node -> RedisServer.bulk(node.host().address(), PORT, "INFO server"))
                    .flatMap(String::lines)
                    .filter(line -> line.startsWith("redis_version:"))
                    .map(line -> line.substring("redis_version:".length()))
                    .findFirst()
                    .orElse("of an unknown version");
            return "Redis " + version + ", one primary, two replicas, three sentinels"
                    + (settings.isEmpty() ? "" : ", " + settings.substring(1));
        }

        @Override
        public List<Node> nodes() {
            return nodes;
        }

        /** What most of the sentinels that answer say. */
        @Override
        public Node leaderOf(String semaphore) {
            Map<String, Integer> votes = new HashMap<>();
            for (Node node : nodes) {
                String addresses = addresses(node);
                nodes.stream()
                        .map(candidate -> candidate.host().address())
                        .filter(addresses::contains)
                        .forEach(address -> votes.merge(address, 1, Integer::sum));
            }
            return nodes.stream()
                    .filter(node -> votes.getOrDefault(node.host().address(), 0) > SIZE / 2)
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException("the sentinels do not agree: " + votes));
        }

        /** What a sentinel says; nothing if it does not answer. */
        private static String addresses(Node node) {
            try {
                return RedisServer.all(node.host().address(), SENTINEL, "SENTINEL get-master-addr-by-name " + MASTER);
            } catch (UncheckedIOException e) {
                return "";
            }
        }

        @Override
        public String uri(Host client) {
            return "redis-sentinel://"
                    + nodes.stream()
                            .map(node -> node.host().address() + ":" + SENTINEL)
                            .collect(Collectors.joining(","))
                    + "/?master=" + MASTER + "&detection=4s" + settings;
        }

        @Override
        public Duration failOver() {
            return Duration.ofSeconds(4);
        }

        @Override
        public String missing() {
            Node leader = leaderOf("");
            for (Node node : nodes) {
                // A sentinel that has not heard of a replica yet leaves it behind at a fail-over.
                String known = RedisServer.all(node.host().address(), SENTINEL, "SENTINEL master " + MASTER);
                if (!known.contains("num-slaves\r\n$1\r\n2") || !known.contains("num-other-sentinels\r\n$1\r\n2")) {
                    return "the sentinel of " + node + " does not know all:\n" + known;
                }
                String replication = RedisServer.bulk(node.host().address(), PORT, "INFO replication");
                boolean right = node == leader
                        ? replication.contains("role:master")
                                && replication
                                                .lines()
                                                .filter(line -> line.contains("state=online"))
                                                .count()
                                        == SIZE - 1
                        : replication.contains("role:slave")
                                && replication.contains(
                                        "master_host:" + leader.host().address())
                                && replication.contains("master_link_status:up");
                if (!right) {
                    return node + " is not linked:\n" + replication;
                }
            }
            return "";
        }

        @Override
        public void close() {
            ProcessServer.delete(folder);
        }
    }
}
