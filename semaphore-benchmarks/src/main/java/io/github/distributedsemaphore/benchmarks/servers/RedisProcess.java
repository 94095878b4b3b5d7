package io.github.distributedsemaphore.benchmarks.servers;

import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A redis-server of our own, on a free port of loopback addresses, that writes nothing to the disk unless it is to be restarted. */
public final class RedisProcess implements MeasuredServer {
    private static final Duration START = Duration.ofSeconds(20);
    private static final int MOST_CLIENTS = 15_000;

    private final int port;
    private final Path log;
    private final List<String> command;
    private Process process;
    private final RedisClient client;
    private final RedisCommands<String, String> commands;

    public RedisProcess(Path folder) {
        this(folder, false, MOST_CLIENTS);
    }

    /**
     * Starts it.
     *
     * @param folder for its files
     * @param durable whether it logs its changes, so that they outlive a restart
     * @param mostClients how many connections it takes
     */
    public RedisProcess(Path folder, boolean durable, int mostClients) {
        port = freePort();
        log = folder.resolve("redis-" + port + ".log");
        command = command(folder, durable, mostClients);
        process = start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> process.destroyForcibly()));
        client = RedisClient.create(uri());
        commands = connect().sync();
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<String> command(Path folder, boolean durable, int mostClients) {
        return List.of(
                "redis-server",
                "--port",
                Integer.toString(port),
                "--bind",
                "127.0.0.1",
                "127.0.0.2",
                "127.0.0.3",
                "127.0.0.4",
                "127.0.0.5",
                "--dir",
                folder.toString(),
                "--save",
                "",
                "--appendonly",
                durable ? "yes" : "no",
                "--maxclients",
                Integer.toString(mostClients));
    }

    private Process start() {
        try {
            return new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                    .start();
        } catch (IOException e) {
            throw new BrokenRunException(
                    "no redis-server on the PATH; install it (Debian: apt-get install redis-server)", e);
        }
    }

    /** Ends it in order and starts it again, with what it has logged; returns when it answers. */
    public void restart() throws InterruptedException {
        process.destroy();
        process.waitFor();
        process = start();
        connect().close();
    }

    private StatefulRedisConnection<String, String> connect() {
        long end = System.nanoTime() + START.toNanos();
        while (true) {
            try {
                return client.connect();
            } catch (RedisConnectionException e) {
                if (!process.isAlive() || System.nanoTime() - end > 0) {
                    close();
                    throw new BrokenRunException("redis-server did not start: " + logged(), e);
                }
                Thread.onSpinWait();
            }
        }
    }

    private String logged() {
        try {
            return Files.readString(log);
        } catch (IOException e) {
            return e.toString();
        }
    }

    @Override
    public String uri() {
        return "redis://127.0.0.1:" + port;
    }

    public int port() {
        return port;
    }

    public RedisCommands<String, String> commands() {
        return commands;
    }

    @Override
    public ServerUse use() {
        return ServerUse.of(commands);
    }

    @Override
    public String version() {
        String version = commands.info("server")
                .lines()
                .filter(line -> line.startsWith("redis_version:"))
                .map(line -> line.substring(line.indexOf(':') + 1).strip())
                .findFirst()
                .orElse("unknown");
        return "redis-server " + version;
    }

    @Override
    public void close() {
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        process.destroyForcibly();
        try {
            process.waitFor(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
