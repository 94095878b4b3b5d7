package io.github.distributedsemaphore.consul;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonElement;
import io.github.distributedsemaphore.tck.cluster.Cluster;
import io.github.distributedsemaphore.tck.cluster.ClusterTck;
import io.github.distributedsemaphore.tck.cluster.Host;
import io.github.distributedsemaphore.tck.cluster.Network;
import io.github.distributedsemaphore.tck.cluster.Node;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Three servers, and clients behind agents on their own hosts, under partitions. Only with {@code -Dtck.clusters=true}. */
class ClusterPartitionTest extends ClusterTck {
    @Override
    protected Cluster start(Network network) throws IOException {
        assumeTrue(Boolean.getBoolean("tck.clusters"), "three servers are started with -Dtck.clusters=true only");
        return new Servers(network);
    }

    private static final class Servers implements Cluster {
        private static final int SIZE = 3;
        private static final HttpClient HTTP = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(Duration.ofMillis(500))
                .build();

        private final Path folder = Files.createTempDirectory("consul-cluster");
        private final List<Node> nodes = new ArrayList<>();
        private final Map<Host, Node> agents = new ConcurrentHashMap<>();

        Servers(Network network) throws IOException {
            List<Host> hosts = new ArrayList<>();
            for (int i = 0; i < SIZE; i++) {
                hosts.add(network.add("server" + i));
            }
            for (Host host : hosts) {
                nodes.add(agent(host, host.address(), hosts, "-server", "-bootstrap-expect", Integer.toString(SIZE)));
            }
        }

        private Node agent(Host host, String client, List<Host> servers, String... more) {
            Path home = folder.resolve(host.name());
            List<String> command = new ArrayList<>(List.of(ConsulAgent.binary(), "agent", "-node", host.name()));
            command.addAll(List.of("-bind", host.address(), "-client", client));
            command.addAll(List.of("-data-dir", home.resolve("data").toString(), "-retry-interval", "1s"));
            servers.forEach(server -> command.addAll(List.of("-retry-join", server.address())));
            // The default is five times as patient with a leader that does not answer.
            command.addAll(List.of("-hcl", "performance { raft_multiplier = 1 }"));
            command.addAll(List.of("-hcl", "disable_update_check = true"));
            command.addAll(List.of(more));
            Node node = new Node(host, home, List.of(command), Map.of());
            node.start();
            return node;
        }

        @Override
        public String form() {
            String self = get(nodes.get(0), "/v1/agent/self");
            return "Consul " + Json.text(Json.parse(self).getAsJsonObject().getAsJsonObject("Config"), "Version")
                    + ", three servers, clients behind agents";
        }

        private static String get(Node node, String path) {
            HttpRequest request = HttpRequest.newBuilder(
                            URI.create("http://" + node.host().address() + ":8500" + path))
                    .timeout(Duration.ofSeconds(1))
                    .build();
            try {
                HttpResponse<String> response = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
                if (response.statusCode() != 200) {
                    throw new IllegalStateException(path + " at " + node + ": " + response.statusCode());
                }
                return response.body();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted", e);
            }
        }

        @Override
        public List<Node> nodes() {
            return nodes;
        }

        /** The one that most servers call so. */
        @Override
        public Node leaderOf(String semaphore) {
            Map<String, Integer> votes = new HashMap<>();
            for (Node node : nodes) {
                try {
                    votes.merge(get(node, "/v1/status/leader"), 1, Integer::sum);
                } catch (UncheckedIOException | IllegalStateException e) {
                    // It has no vote.
                }
            }
            return nodes.stream()
                    .filter(node -> votes.getOrDefault("\"" + node.host().address() + ":8300\"", 0) > SIZE / 2)
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException("the servers do not agree who leads: " + votes));
        }

        @Override
        public String uri(Host client) {
            agents.computeIfAbsent(
                    client,
                    host -> agent(
                            host, "127.0.0.1", nodes.stream().map(Node::host).toList()));
            return "consul://127.0.0.1:8500?detection=22s";
        }

        @Override
        public Duration failOver() {
            return Duration.ofSeconds(6);
        }

        @Override
        public String missing() {
            for (Node node : nodes) {
                int alive = 0;
                for (JsonElement member :
                        Json.parse(get(node, "/v1/agent/members")).getAsJsonArray()) {
                    alive += member.getAsJsonObject().get("Status").getAsInt() == 1 ? 1 : 0;
                }
                if (alive != SIZE + agents.size()) {
                    return node + " knows " + alive + " of " + (SIZE + agents.size()) + " members";
                }
            }
            Node leader = leaderOf("");
            String health = get(leader, "/v1/operator/autopilot/health");
            if (!Json.parse(health).getAsJsonObject().get("Healthy").getAsBoolean()) {
                return "autopilot calls it not healthy: " + health;
            }
            return allVote(leader) ? "" : "not all servers have a vote";
        }

        /** A server that starts empty has no vote for ten seconds; without another one meanwhile there is no majority. */
        private static boolean allVote(Node leader) {
            int voters = 0;
            String raft = get(leader, "/v1/operator/raft/configuration");
            for (JsonElement server : Json.parse(raft).getAsJsonObject().getAsJsonArray("Servers")) {
                voters += server.getAsJsonObject().get("Voter").getAsBoolean() ? 1 : 0;
            }
            return voters == SIZE;
        }

        @Override
        public void close() {
            agents.values().forEach(Node::kill);
            ConsulControl.deleteTree(folder);
        }
    }
}
