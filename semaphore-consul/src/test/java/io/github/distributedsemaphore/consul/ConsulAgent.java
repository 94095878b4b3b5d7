package io.github.distributedsemaphore.consul;

import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.tck.harness.ProcessServer;
import io.github.distributedsemaphore.tck.link.FreePorts;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A process of the {@code consul} command that serves a test, on free ports of the loopback. It can be killed, and started
 * again on the same ports with the data it had.
 */
final class ConsulAgent implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final List<String> command = new ArrayList<>();
    private final ConsulServer server;
    private final int serverPort;
    private final Path data;
    private final ProcessServer process = new ProcessServer("Consul");

    private ConsulAgent(Path data, List<Integer> ports, String token, List<String> options) {
        this.data = data;
        server = new ConsulServer("127.0.0.1:" + ports.get(0), token);
        serverPort = ports.get(1);
        command.addAll(List.of(binary(), "agent", "-bind", "127.0.0.1", "-client", "127.0.0.1"));
        command.addAll(List.of("-http-port", ports.get(0).toString()));
        command.addAll(List.of("-server-port", ports.get(1).toString()));
        command.addAll(List.of("-serf-lan-port", ports.get(2).toString()));
        command.addAll(List.of("-serf-wan-port", ports.get(3).toString()));
        command.addAll(List.of("-dns-port", "-1", "-grpc-port", "-1", "-hcl", "disable_update_check = true"));
        command.addAll(options);
        start();
    }

    /** Starts an agent that keeps everything in memory. */
    static ConsulAgent inMemory(String... options) {
        return inMemory(FreePorts.choose(4), "", options);
    }

    /** Starts an agent in memory whose own look is taken with a token. */
    static ConsulAgent inMemory(List<Integer> ports, String token, String... options) {
        List<String> all = new ArrayList<>(List.of("-dev", "-node", "test"));
        all.addAll(List.of(options));
        return led(new ConsulAgent(Path.of(""), ports, token, all));
    }

    /** Starts one server that keeps its data in a directory. */
    static ConsulAgent onDisk(Path data) {
        return cluster(data, 1, "").get(0);
    }

    /** Starts servers that are one cluster, with some more words of configuration. */
    static List<ConsulAgent> cluster(Path data, int size, String token, String... configuration) {
        List<List<Integer>> ports = new ArrayList<>();
        List<Integer> all = FreePorts.choose(4 * size);
        List<String> join = new ArrayList<>(List.of("-retry-interval", "1s"));
        List.of(configuration).forEach(words -> join.addAll(List.of("-hcl", words)));
        for (int i = 0; i < size; i++) {
            ports.add(all.subList(4 * i, 4 * i + 4));
            if (size > 1) {
                join.addAll(List.of("-retry-join", "127.0.0.1:" + ports.get(i).get(2)));
            }
        }
        List<ConsulAgent> servers = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            servers.add(server(data.resolve("server" + i), ports.get(i), size, token, join));
        }
        try {
            servers.forEach(ConsulAgent::awaitLeader);
            return servers;
        } catch (RuntimeException | Error e) {
            servers.forEach(ConsulAgent::close);
            throw e;
        }
    }

    private static ConsulAgent server(Path data, List<Integer> ports, int size, String token, List<String> join) {
        List<String> options = new ArrayList<>(List.of("-server", "-bootstrap-expect", Integer.toString(size)));
        options.addAll(List.of("-node", data.getFileName().toString(), "-data-dir", data.toString()));
        // The default is five times as patient with a leader that does not answer.
        options.addAll(List.of("-hcl", "performance { raft_multiplier = 1 }"));
        options.addAll(join);
        return new ConsulAgent(data, ports, token, options);
    }

    private static ConsulAgent led(ConsulAgent agent) {
        try {
            agent.awaitLeader();
            return agent;
        } catch (RuntimeException | Error e) {
            agent.close();
            throw e;
        }
    }

    /** Returns the path of the {@code consul} command. */
    static String binary() {
        for (String directory : System.getenv("PATH").split(File.pathSeparator)) {
            Path binary = Path.of(directory, "consul");
            if (Files.isExecutable(binary)) {
                return binary.toString();
            }
        }
        throw new IllegalStateException(
                "These tests need Consul: put the consul command on the PATH (.ci/install-consul"
                        + " installs 1.8.7 on Debian, as root)");
    }

    /** What an operator does there. */
    ConsulServer server() {
        return server;
    }

    /** Returns the one of these servers that leads. */
    static ConsulAgent leaderOf(List<ConsulAgent> servers) {
        return await("one of the servers leads")
                .atMost(PATIENCE)
                .ignoreExceptions()
                .until(
                        () -> {
                            String leader = servers.get(0)
                                    .server()
                                    .send("GET", "/v1/status/leader", "")
                                    .body();
                            return servers.stream()
                                    .filter(server -> leader.endsWith(":" + server.serverPort + "\""))
                                    .findFirst();
                        },
                        Optional::isPresent)
                .orElseThrow();
    }

    /** Returns the folder of what it stores; empty if it keeps that in memory. */
    Path data() {
        return data;
    }

    boolean isRunning() {
        return process.isRunning();
    }

    long pid() {
        return process.process().pid();
    }

    /** Starts the process, again if need be; does not wait until it serves. */
    void start() {
        process.start(command, () -> true);
    }

    /** Waits until it serves what only a leader can. */
    void awaitLeader() {
        await("the Consul agent at " + server.address() + " has a leader")
                .atMost(PATIENCE)
                .failFast("the Consul agent has ended", () -> !process.isRunning())
                .until(server::hasLeader);
    }

    /** Ends it as {@code kill -9} does. */
    void kill() {
        process.kill();
    }

    /** Ends it in order, as an operator does. */
    void stop() {
        process.stop();
    }

    @Override
    public void close() {
        process.close();
    }
}
