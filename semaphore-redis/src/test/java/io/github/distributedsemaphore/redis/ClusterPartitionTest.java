package io.github.distributedsemaphore.redis;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.distributedsemaphore.tck.cluster.Cluster;
import io.github.distributedsemaphore.tck.cluster.ClusterTck;
import io.github.distributedsemaphore.tck.cluster.Host;
import io.github.distributedsemaphore.tck.cluster.Network;
import io.github.distributedsemaphore.tck.cluster.Node;
import io.github.distributedsemaphore.tck.harness.ProcessServer;
import io.lettuce.core.cluster.SlotHash;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A cluster of three primaries with a replica each, under partitions. Only with {@code -Dtck.clusters=true}. */
class ClusterPartitionTest extends ClusterTck {
    @Override
    protected Cluster start(Network network) throws Exception {
        assumeTrue(Boolean.getBoolean("tck.clusters"), "six servers are started with -Dtck.clusters=true only");
        return new Primaries(network);
    }

    private static final class Primaries implements Cluster {
        private static final int PRIMARIES = 3;
        private static final int PORT = 6379;

        private final Path folder = Files.createTempDirectory("redis-cluster");
        private final List<Node> nodes = new ArrayList<>();

        Primaries(Network network) throws IOException, InterruptedException {
            for (int i = 0; i < 2 * PRIMARIES; i++) {
                Host host = network.add("redis" + i);
                Path home = Files.createDirectories(folder.resolve(host.name()));
                Node node = new Node(host, home, List.of(command(host, home)), Map.of());
                node.start();
                nodes.add(node);
            }
            List<String> create = new ArrayList<>(List.of("redis-cli", "--cluster", "create"));
            nodes.forEach(node -> create.add(node.host().address() + ":" + PORT));
            create.addAll(List.of("--cluster-replicas", "1", "--cluster-yes"));
            Process created = null;
            for (int attempt = 0; attempt < 20 && (created == null || created.waitFor() != 0); attempt++) {
                Thread.sleep(500);
                created = new ProcessBuilder(create)
                        .redirectErrorStream(true)
                        .redirectOutput(folder.resolve("create").toFile())
                        .start();
            }
            if (created == null || created.waitFor() != 0) {
                throw new IOException("no cluster was created: " + Files.readString(folder.resolve("create")));
            }
        }

        private static List<String> command(Host host, Path home) {
            return List.of(
                    "redis-server",
                    "--bind",
                    host.address(),
                    "--port",
                    Integer.toString(PORT),
                    "--protected-mode",
                    "no",
                    "--dir",
                    home.resolve("data").toString(),
                    "--save",
                    "",
                    "--appendonly",
                    "yes",
                    "--repl-timeout",
                    "5",
                    "--repl-ping-replica-period",
                    "1",
                    "--repl-diskless-sync-delay",
                    "0",
                    "--cluster-enabled",
                    "yes",
                    // By default it is 15 seconds.
                    "--cluster-node-timeout",
                    "2000");
        }

        private static String ask(Node node, String command) {
            return RedisServer.bulk(node.host().address(), PORT, command);
        }

        @Override
        public String form() {
            String version = ask(nodes.get(0), "INFO server")
                    .lines()
                    .filter(line -> line.startsWith("redis_version:"))
                    .map(line -> line.substring("redis_version:".length()))
                    .findFirst()
                    .orElse("of an unknown version");
            return "Redis " + version + ", cluster of three primaries and three replicas";
        }

        @Override
        public List<Node> nodes() {
            return nodes;
        }

        /** The one that most nodes call the primary of the semaphore's hash slot. */
        @Override
        public Node leaderOf(String semaphore) {
            int slot = SlotHash.getSlot(
                    new RedisLayout("semaphore", semaphore).control().getBytes(StandardCharsets.UTF_8));
            for (Node candidate : nodes) {
                long votes = nodes.stream()
                        .filter(node -> isPrimary(candidate, slot, node))
                        .count();
                if (votes > PRIMARIES) {
                    return candidate;
                }
            }
            throw new IllegalStateException("the nodes do not agree who has slot " + slot);
        }

        private static boolean isPrimary(Node candidate, int slot, Node asked) {
            try {
                return ask(asked, "CLUSTER NODES")
                        .lines()
                        .map(line -> line.split(" ", -1))
                        .filter(words -> words[1].startsWith(candidate.host().address() + ":"))
                        .filter(words -> words[2].contains("master") && !words[2].contains("fail"))
                        .anyMatch(words -> List.of(words).subList(8, words.length).stream()
                                .anyMatch(range -> isWithin(slot, range)));
            } catch (RuntimeException e) {
                return false;
            }
        }

        private static boolean isWithin(int slot, String range) {
            if (range.startsWith("[")) {
                return false;
            }
            String[] ends = range.split("-", -1);
            return Integer.parseInt(ends[0]) <= slot && slot <= Integer.parseInt(ends[ends.length - 1]);
        }

        @Override
        public String uri(Host client) {
            return "redis-cluster://"
                    + nodes.stream()
                            .map(node -> node.host().address() + ":" + PORT)
                            .collect(Collectors.joining(","))
                    + "/?detection=4s";
        }

        @Override
        public Duration failOver() {
            return Duration.ofSeconds(5);
        }

        @Override
        public String missing() {
            for (Node node : nodes) {
                String info = ask(node, "CLUSTER INFO");
                String known = ask(node, "CLUSTER NODES");
                String replication = ask(node, "INFO replication");
                boolean linked = replication.contains("role:master")
                        ? replication.contains("state=online")
                        : replication.contains("master_link_status:up");
                if (!info.contains("cluster_state:ok") || known.contains("fail")) {
                    return node + " knows\n" + known;
                }
                if (!linked) {
                    return node + " is not linked:\n" + replication;
                }
            }
            return "";
        }

        /** A node without its file of nodes has another id, and is a stranger. */
        @Override
        public boolean mayStartEmpty() {
            return false;
        }

        @Override
        public void close() {
            ProcessServer.delete(folder);
        }
    }
}
