package io.github.distributedsemaphore.rabbitmq;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.tck.cluster.Cluster;
import io.github.distributedsemaphore.tck.cluster.ClusterTck;
import io.github.distributedsemaphore.tck.cluster.Host;
import io.github.distributedsemaphore.tck.cluster.Network;
import io.github.distributedsemaphore.tck.cluster.Node;
import io.github.distributedsemaphore.tck.harness.ProcessServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Three brokers with slots in quorum queues, under partitions. Only with {@code -Dtck.clusters=true}; with {@code -Dtck.khepri=true} the
 * brokers, which must be of version 4 then, keep their metadata in Khepri. {@code -Dtck.partitions=ignore} or {@code autoheal} sets what
 * the nodes do in a partition, {@code pause_minority} by default.
 */
class ClusterPartitionTest extends ClusterTck {
    @Override
    protected Cluster start(Network network) throws Exception {
        assumeTrue(Boolean.getBoolean("tck.clusters"), "three brokers are started with -Dtck.clusters=true only");
        assumeTrue(RabbitNode.isInstalled(), "no broker is installed that a cluster could be made of");
        return new Brokers(network);
    }

    private static final class Brokers implements Cluster {
        private static final int SIZE = 3;
        private static final int REPLY_MILLIS = 3_000;
        private static final int REPLICAS_MILLIS = 5_000;
        /** The function has another name since 3.12. */
        private static final String RUNNING = "case erlang:function_exported(rabbit_nodes, list_running, 0) of"
                + " true -> rabbit_nodes:list_running(); false -> rabbit_nodes:all_running() end";

        private static final Pattern NAME = Pattern.compile("rabbit@([0-9.]+)");

        private static final boolean KHEPRI = Boolean.getBoolean("tck.khepri");
        private static final String PARTITIONS = System.getProperty("tck.partitions", "pause_minority");

        private final Path folder = Files.createTempDirectory("rabbitmq-cluster");
        private final String cookie = UUID.randomUUID().toString();
        private final List<Node> nodes = new ArrayList<>();

        Brokers(Network network) throws IOException, InterruptedException {
            Path file = Files.writeString(folder.resolve(".erlang.cookie"), cookie);
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("r--------"));
            List<Host> hosts = new ArrayList<>();
            for (int i = 0; i < SIZE; i++) {
                hosts.add(network.add("rabbit" + i));
            }
            for (Host host : hosts) {
                Node node = node(host, hosts);
                node.start();
                nodes.add(node);
                // The others join it.
                for (int look = 0; look < 200 && !isRunning(node, nodes.size()); look++) {
                    Thread.sleep(500);
                }
            }
            if (KHEPRI) {
                enableKhepri();
            }
        }

        private void enableKhepri() {
            String said = eval(nodes.get(0), "rabbit_feature_flags:enable(khepri_db)", 60);
            if (!said.startsWith("{ok, ok}")) {
                throw new IllegalStateException(
                        "Khepri cannot be enabled: the broker of " + RabbitNode.SCRIPTS + " says " + said.strip()
                                + ". It has to be of version 4 or later; ./verify clusters brings one");
            }
        }

        private Node node(Host host, List<Host> hosts) throws IOException {
            Path home = Files.createDirectories(folder.resolve(host.name()));
            List<String> lines = new ArrayList<>(List.of(
                    "loopback_users = none",
                    "listeners.tcp.1 = " + host.address() + ":5672",
                    "cluster_partition_handling = " + PARTITIONS,
                    // By default it is 60 seconds.
                    "net_ticktime = 5",
                    "cluster_formation.peer_discovery_backend = classic_config"));
            for (int i = 0; i < SIZE; i++) {
                lines.add("cluster_formation.classic_config.nodes." + (i + 1) + " = " + name(hosts.get(i)));
            }
            Files.write(home.resolve("rabbitmq.conf"), lines);
            // A stream's leader calls its replicas by the host name first, which all nodes share here and which leads
            // nowhere.
            Files.writeString(
                    home.resolve("inetrc"),
                    "{lookup, [file, native]}.\n{host, {" + host.address().replace('.', ',') + "}, [\"" + hostName()
                            + "\"]}.\n");
            Map<String, String> environment = Map.ofEntries(
                    Map.entry("HOME", folder.toString()),
                    Map.entry("ERL_EPMD_ADDRESS", host.address()),
                    Map.entry("ERL_INETRC", home.resolve("inetrc").toString()),
                    // So that the script becomes the broker, and does not stand before it.
                    Map.entry("RUNNING_UNDER_SYSTEMD", "true"),
                    Map.entry("RABBITMQ_USE_LONGNAME", "true"),
                    Map.entry("RABBITMQ_NODENAME", name(host)),
                    Map.entry("RABBITMQ_MNESIA_BASE", home.resolve("data").toString()),
                    Map.entry("RABBITMQ_LOG_BASE", home.resolve("logs").toString()),
                    Map.entry(
                            "RABBITMQ_CONFIG_FILE",
                            home.resolve("rabbitmq.conf").toString()),
                    Map.entry(
                            "RABBITMQ_ENABLED_PLUGINS_FILE",
                            home.resolve("plugins").toString()),
                    Map.entry("RABBITMQ_PID_FILE", home.resolve("pid").toString()),
                    Map.entry("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "+sbwt none"));
            List<String> broker = List.of(RabbitNode.SCRIPTS + "/rabbitmq-server");
            return new Node(host, home, List.of(List.of("epmd"), broker), environment);
        }

        private static String hostName() throws IOException {
            return Files.readString(Path.of("/proc/sys/kernel/hostname"))
                    .strip()
                    .replaceAll("[.].*", "");
        }

        private static String name(Host host) {
            return "rabbit@" + host.address();
        }

        /** Asks the broker in its own language. */
        private String eval(Node node, String expression) {
            return eval(node, expression, 3);
        }

        private String eval(Node node, String expression, int seconds) {
            try {
                List<String> command =
                        List.of(RabbitNode.findErlCall().toString(), "-name", name(node.host()), "-c", cookie, "-e");
                Process process = new ProcessBuilder(node.host().command(command))
                        .redirectErrorStream(true)
                        .start();
                process.getOutputStream().write((expression + ".\n").getBytes(StandardCharsets.US_ASCII));
                process.getOutputStream().close();
                if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                    throw new IllegalStateException(node + " does not answer");
                }
                String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                if (!said.startsWith("{ok, ")) {
                    throw new IllegalStateException(expression + " at " + node + " made " + said);
                }
                return said;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted", e);
            }
        }

        private boolean isRunning(Node node, int peers) {
            try {
                return missingAt(node, peers).isEmpty();
            } catch (IllegalStateException | UncheckedIOException e) {
                return false;
            }
        }

        private String missingAt(Node node, int peers) {
            String running = eval(node, RUNNING);
            if (NAME.matcher(running).results().count() != peers) {
                return node + " knows as running " + running;
            }
            // Khepri remembers none.
            String partitions = KHEPRI ? "{ok, []}" : eval(node, "rabbit_node_monitor:partitions()");
            return partitions.startsWith("{ok, []}") ? "" : node + " remembers partitions " + partitions;
        }

        @Override
        public String form() {
            Matcher version =
                    Pattern.compile("[0-9]+[.][0-9]+[.][0-9]+").matcher(eval(nodes.get(0), "rabbit_misc:version()"));
            return "RabbitMQ " + (version.find() ? version.group() : "of an unknown version")
                    + (KHEPRI ? " with Khepri" : " with Mnesia") + ", three nodes, quorum slots, " + PARTITIONS;
        }

        @Override
        public List<Node> nodes() {
            return nodes;
        }

        /** Each queue has a leader of its own. */
        @Override
        public boolean hasOneLeader() {
            return false;
        }

        /** The one that leads most of the queues of slots, of those that answer; before there are any, the first. */
        @Override
        public Node leaderOf(String semaphore) {
            String leaders = "[element(2, amqqueue:get_pid(Q)) || Q <- rabbit_amqqueue:list(),"
                    + " amqqueue:get_type(Q) =:= rabbit_quorum_queue]";
            Map<String, Integer> votes = new HashMap<>();
            int answered = 0;
            for (Node node : nodes) {
                try {
                    Matcher names = NAME.matcher(eval(node, leaders));
                    answered++;
                    while (names.find()) {
                        votes.merge(names.group(1), 1, Integer::sum);
                    }
                } catch (IllegalStateException e) {
                    // It has no vote.
                }
            }
            if (answered <= SIZE / 2) {
                throw new IllegalStateException("only " + answered + " of " + SIZE + " nodes answer");
            }
            return nodes.stream()
                    .max(Comparator.comparingInt(
                            node -> votes.getOrDefault(node.host().address(), 0)))
                    .orElseThrow();
        }

        /** Exclusive queues as each node lists them, and whether the queue and the connection of its owner live. */
        @Override
        public String stored(String semaphore) {
            String lives =
                    "Lives = fun(P) when is_pid(P) -> {node(P), rpc:call(node(P), erlang, is_process_alive, [P], 2000)};"
                            + " (P) -> P end,";
            String queues = " [{element(4, amqqueue:get_name(Q)), Lives(amqqueue:get_pid(Q)),"
                    + " Lives(amqqueue:get_exclusive_owner(Q))} || Q <- rabbit_amqqueue:list(),"
                    + " amqqueue:get_exclusive_owner(Q) =/= none,"
                    + " string:find(element(4, amqqueue:get_name(Q)), \"sem:" + semaphore + ":\") =/= nomatch]";
            return nodes.stream()
                    .map(node -> node + ": " + eval(node, lives + queues, 30))
                    .collect(Collectors.joining("\n"));
        }

        @Override
        public String uri(Host client) {
            return "amqp://guest:guest@"
                    + nodes.stream()
                            .map(node -> node.host().address() + ":5672")
                            .collect(Collectors.joining(","))
                    + "/?detection=4s&slotQueues=quorum";
        }

        @Override
        public Duration failOver() {
            return Duration.ofSeconds(8);
        }

        @Override
        public String missing() {
            for (Node node : nodes) {
                String missing = missingAt(node, SIZE);
                if (!missing.isEmpty()) {
                    return missing;
                }
            }
            return hasStreams() ? "" : "a stream that is made is not readable at each node";
        }

        /** A stream that is made now can be read at each node, as epochs are: the broker's coordinator of streams may be away for long. */
        private boolean hasStreams() {
            String stream = "whole-" + UUID.randomUUID();
            long begun = System.nanoTime();
            try (Connection connection = connect(nodes.get(0));
                    Channel channel = connection.createChannel()) {
                channel.queueDeclare(stream, true, false, false, Map.of("x-queue-type", "stream"));
                boolean readable = false;
                while (!readable && System.nanoTime() - begun < TimeUnit.MILLISECONDS.toNanos(REPLICAS_MILLIS)) {
                    readable = nodes.stream().allMatch(node -> isReadable(node, stream));
                }
                channel.queueDelete(stream);
                return readable;
            } catch (IOException | TimeoutException | ShutdownSignalException e) {
                return false;
            }
        }

        private static boolean isReadable(Node node, String stream) {
            try (Connection connection = connect(node);
                    Channel channel = connection.createChannel()) {
                channel.basicQos(1);
                channel.basicConsume(stream, false, (tag, message) -> {}, tag -> {});
                return true;
            } catch (IOException | TimeoutException | ShutdownSignalException e) {
                return false;
            }
        }

        private static Connection connect(Node node) throws IOException, TimeoutException {
            ConnectionFactory factory = new ConnectionFactory();
            factory.setHost(node.host().address());
            factory.setAutomaticRecoveryEnabled(false);
            factory.setConnectionTimeout(REPLY_MILLIS);
            factory.setHandshakeTimeout(REPLY_MILLIS);
            factory.setChannelRpcTimeout(REPLY_MILLIS);
            return factory.newConnection();
        }

        /**
         * Restarts the node that is named in most of the partitions that nodes remember, or remembers most itself: Mnesia does not join
         * what was apart. Khepri remembers no partition, but nodes of RabbitMQ 4.0 do not connect again by themselves (rabbitmq-server
         * issue 12934). What they do when they have connected is done here as well: they delete exclusive queues of which only the record is
         * left.
         */
        @Override
        public void repair() {
            if (KHEPRI) {
                nodes.forEach(this::tidy);
                return;
            }
            Map<String, Integer> apart = new HashMap<>();
            for (Node node : nodes) {
                try {
                    NAME.matcher(eval(node, "rabbit_node_monitor:partitions()"))
                            .results()
                            .forEach(name -> {
                                apart.merge(name.group(1), 1, Integer::sum);
                                apart.merge(node.host().address(), 1, Integer::sum);
                            });
                } catch (IllegalStateException | UncheckedIOException e) {
                    // It remembers none.
                }
            }
            nodes.stream()
                    .max(Comparator.comparingInt(
                            node -> apart.getOrDefault(node.host().address(), 0)))
                    .ifPresent(Node::restart);
        }

        private void tidy(Node node) {
            try {
                eval(
                        node,
                        "[net_kernel:connect_node(N) || N <- rabbit_nodes:list_members()],"
                                + " rabbit_amqqueue:on_node_up(node())",
                        10);
            } catch (IllegalStateException | UncheckedIOException e) {
                // It does not answer yet.
            }
        }

        /** The others would have to forget it first. */
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
