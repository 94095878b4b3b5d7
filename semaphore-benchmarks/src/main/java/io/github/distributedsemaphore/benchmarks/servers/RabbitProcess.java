package io.github.distributedsemaphore.benchmarks.servers;

import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/** A RabbitMQ of our own, on free ports of the loopback address, with a port mapper of its own. */
public final class RabbitProcess implements MeasuredServer {
    private static final Duration START = Duration.ofSeconds(60);
    private static final String SCRIPT = "/usr/lib/rabbitmq/bin/rabbitmq-server";

    private final int port = freePort();
    private final Map<String, String> environment;
    private final Path log;
    private final Process mapper;
    private final Process process;
    private final Connection connection;

    public RabbitProcess(Path folder) {
        Path home = folder.resolve("rabbitmq-" + port);
        log = home.resolve("log");
        environment = environment(home);
        try {
            Files.createDirectory(home);
            Files.writeString(home.resolve("rabbitmq.conf"), "listeners.tcp.1 = 127.0.0.1:" + port + "\n");
            mapper = start("epmd");
            process = start(SCRIPT);
        } catch (IOException e) {
            throw new BrokenRunException(
                    "no RabbitMQ at " + SCRIPT + "; install it (Debian: apt-get install rabbitmq-server)", e);
        }
        connection = connect();
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Map<String, String> environment(Path home) {
        return Map.ofEntries(
                // So that the script becomes the broker, and does not stand before it.
                Map.entry("RUNNING_UNDER_SYSTEMD", "true"),
                Map.entry("HOME", home.toString()),
                Map.entry("ERL_EPMD_PORT", Integer.toString(freePort())),
                Map.entry("ERL_EPMD_ADDRESS", "127.0.0.1"),
                Map.entry("RABBITMQ_NODENAME", "bench" + port + "@localhost"),
                Map.entry("RABBITMQ_NODE_PORT", Integer.toString(port)),
                Map.entry("RABBITMQ_DIST_PORT", Integer.toString(freePort())),
                Map.entry("RABBITMQ_MNESIA_BASE", home.resolve("data").toString()),
                Map.entry("RABBITMQ_LOG_BASE", home.resolve("logs").toString()),
                Map.entry("RABBITMQ_CONFIG_FILE", home.resolve("rabbitmq.conf").toString()),
                Map.entry(
                        "RABBITMQ_ENABLED_PLUGINS_FILE",
                        home.resolve("enabled_plugins").toString()),
                Map.entry("RABBITMQ_PID_FILE", home.resolve("pid").toString()),
                Map.entry(
                        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                        "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none"));
    }

    private Process start(String program) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(program)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
        builder.environment().putAll(environment);
        Process started = builder.start();
        Runtime.getRuntime().addShutdownHook(new Thread(started::destroyForcibly));
        return started;
    }

    private Connection connect() {
        long end = System.nanoTime() + START.toNanos();
        ConnectionFactory factory = new ConnectionFactory();
        factory.setPort(port);
        while (true) {
            try {
                return factory.newConnection();
            } catch (IOException | TimeoutException e) {
                if (!process.isAlive() || System.nanoTime() - end > 0) {
                    end();
                    throw new BrokenRunException("RabbitMQ did not start, see " + log, e);
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
            }
        }
    }

    @Override
    public String uri() {
        return "amqp://guest:guest@127.0.0.1:" + port;
    }

    /** The broker counts no commands that one could ask for over AMQP, so only its processor time is reported. */
    @Override
    public ServerUse use() {
        Duration used = process.info().totalCpuDuration().orElse(Duration.ZERO);
        return new ServerUse(0, used.toNanos() / 1e3);
    }

    @Override
    public String version() {
        return "RabbitMQ " + connection.getServerProperties().get("version");
    }

    @Override
    public void close() {
        connection.abort();
        end();
    }

    private void end() {
        for (Process one : new Process[] {process, mapper}) {
            one.destroyForcibly();
            one.onExit().join();
        }
    }
}
