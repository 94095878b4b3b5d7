package io.github.distributedsemaphore.benchmarks.servers;

import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import io.github.distributedsemaphore.tck.harness.ProcessServer;
import io.github.distributedsemaphore.tck.link.FreePorts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;

/** A RabbitMQ of our own, on free ports of the loopback address, with a port mapper of its own. */
public final class RabbitProcess implements MeasuredServer {
    private static final String SCRIPT = "/usr/lib/rabbitmq/bin/rabbitmq-server";

    private final int port = FreePorts.choose(1).get(0);
    private final ProcessServer process;
    private final Process mapper;
    private final Connection connection;

    public RabbitProcess(Path folder) {
        Path home = folder.resolve("rabbitmq-" + port);
        process = new ProcessServer("RabbitMQ", home);
        process.environment().putAll(environment(home));
        try {
            Files.writeString(home.resolve("rabbitmq.conf"), "listeners.tcp.1 = 127.0.0.1:" + port + "\n");
            // Left to the broker it would be a daemon, which outlives all that use it.
            mapper = process.begin(List.of("epmd"));
            Runtime.getRuntime().addShutdownHook(new Thread(mapper::destroyForcibly));
            start();
            connection = connect();
        } catch (IOException | TimeoutException e) {
            throw new BrokenRunException("RabbitMQ cannot be used", e);
        }
    }

    private void start() {
        MeasuredServer.start(
                process,
                List.of(SCRIPT),
                () -> ProcessServer.answer(port, "HELLO!!!") == 'A',
                "Debian: apt-get install rabbitmq-server");
    }

    @Override
    public void restart() {
        process.stop();
        start();
    }

    private Connection connect() throws IOException, TimeoutException {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setPort(port);
        return factory.newConnection();
    }

    private Map<String, String> environment(Path home) {
        return Map.ofEntries(
                // So that the script becomes the broker, and does not stand before it.
                Map.entry("RUNNING_UNDER_SYSTEMD", "true"),
                Map.entry("HOME", home.toString()),
                Map.entry("ERL_EPMD_PORT", Integer.toString(FreePorts.choose(1).get(0))),
                Map.entry("ERL_EPMD_ADDRESS", "127.0.0.1"),
                Map.entry("RABBITMQ_NODENAME", "bench" + port + "@localhost"),
                Map.entry("RABBITMQ_NODE_PORT", Integer.toString(port)),
                Map.entry(
                        "RABBITMQ_DIST_PORT",
                        Integer.toString(FreePorts.choose(1).get(0))),
                Map.entry("RABBITMQ_MNESIA_BASE", home.resolve("data").toString()),
                Map.entry("RABBITMQ_LOG_BASE", home.resolve("logs").toString()),
                Map.entry("RABBITMQ_CONFIG_FILE", home.resolve("rabbitmq.conf").toString()),
                Map.entry(
                        "RABBITMQ_ENABLED_PLUGINS_FILE",
                        home.resolve("enabled_plugins").toString()),
                Map.entry("RABBITMQ_PID_FILE", home.resolve("pid").toString()),
                Map.entry(
                        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                        "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu none +sbwtdio none"));
    }

    @Override
    public String uri() {
        return "amqp://guest:guest@127.0.0.1:" + port;
    }

    /** The broker counts no commands that one could ask for over AMQP, so only its processor time is reported. */
    @Override
    public ServerUse use() {
        return new ServerUse(0, MeasuredServer.processorMicros(process));
    }

    @Override
    public String version() {
        return "RabbitMQ " + connection.getServerProperties().get("version");
    }

    @Override
    public void close() {
        connection.abort();
        process.close();
        mapper.destroyForcibly();
        mapper.onExit().join();
    }
}
