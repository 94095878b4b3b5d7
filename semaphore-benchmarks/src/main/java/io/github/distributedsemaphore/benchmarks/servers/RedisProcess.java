package io.github.distributedsemaphore.benchmarks.servers;

import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import io.github.distributedsemaphore.tck.harness.ProcessServer;
import io.github.distributedsemaphore.tck.link.FreePorts;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** A redis-server of our own, on a free port of loopback addresses, that writes nothing to the disk unless it is to be restarted. */
public final class RedisProcess implements MeasuredServer {
    private static final int MOST_CLIENTS = 15_000;

    private final int port = FreePorts.choose(1).get(0);
    private final ProcessServer process;
    private final List<String> command;
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
        process = new ProcessServer("redis-server", folder.resolve("redis-" + port));
        command = command(durable, mostClients);
        start();
        client = RedisClient.create(uri());
        commands = client.connect().sync();
    }

    private List<String> command(boolean durable, int mostClients) {
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
                "--save",
                "",
                "--appendonly",
                durable ? "yes" : "no",
                "--maxclients",
                Integer.toString(mostClients));
    }

    private void start() {
        MeasuredServer.start(
                process,
                command,
                () -> ProcessServer.answer(port, "PING\r\n") == '+',
                "Debian: apt-get install redis-server");
    }

    @Override
    public void restart() {
        process.stop();
        start();
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
        process.close();
    }
}
