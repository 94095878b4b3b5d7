package io.github.distributedsemaphore.rabbitmq;

import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.tck.harness.ProcessServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/** A broker of our own on free ports of the loopback. Not thread-safe, but for {@link #eval} and {@link #ctl}. */
final class RabbitNode implements BrokerShell, AutoCloseable {
    /** Those of another version, by {@code ./verify --servers}, or Debian's. */
    static final String SCRIPTS = System.getenv().getOrDefault("SEMAPHORE_RABBITMQ_SCRIPTS", "/usr/lib/rabbitmq/bin");

    private static final Duration STREAMS_SETTLE = Duration.ofSeconds(2);
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final ErlangHome home;
    private final ProcessServer process;
    private final int port = ErlangHome.freePort();
    private final int tlsPort = ErlangHome.freePort();
    private final String node = "test" + port + "@localhost";
    private final Path erlCall = findErlCall();

    private RabbitNode(ErlangHome home, List<String> configuration) throws IOException {
        this.home = home;
        this.process = new ProcessServer("RabbitMQ", home.newFolder("node" + port));
        Certificate.make(process.folder());
        List<String> lines = new ArrayList<>(configuration());
        lines.addAll(configuration);
        Files.write(process.folder().resolve("rabbitmq.conf"), lines);
        process.environment().putAll(home.environment());
        process.environment().putAll(environment());
        restart();
    }

    static boolean isInstalled() {
        return Files.isExecutable(Path.of(SCRIPTS, "rabbitmq-server"));
    }

    /** Starts a broker and returns when it serves. */
    static RabbitNode start() {
        return start(new ErlangHome());
    }

    /** Starts a broker among those of the same home. */
    static RabbitNode start(ErlangHome home, String... configuration) {
        try {
            return new RabbitNode(home, List.of(configuration));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<String> configuration() {
        return List.of(
                "loopback_users = none",
                "listeners.tcp.1 = 127.0.0.1:" + port,
                "listeners.ssl.1 = 127.0.0.1:" + tlsPort,
                "ssl_options.cacertfile = " + Certificate.file(process.folder()),
                "ssl_options.certfile = " + Certificate.file(process.folder()),
                "ssl_options.keyfile = " + Certificate.key(process.folder()),
                "ssl_options.verify = verify_none");
    }

    private Map<String, String> environment() {
        return Map.ofEntries(
                // So that the script becomes the broker, and does not stand before it.
                Map.entry("RUNNING_UNDER_SYSTEMD", "true"),
                Map.entry("RABBITMQ_NODENAME", node),
                Map.entry("RABBITMQ_NODE_PORT", Integer.toString(port)),
                Map.entry("RABBITMQ_DIST_PORT", Integer.toString(ErlangHome.freePort())),
                Map.entry("RABBITMQ_MNESIA_BASE", process.data().toString()),
                Map.entry("RABBITMQ_LOG_BASE", process.folder().resolve("logs").toString()),
                Map.entry(
                        "RABBITMQ_CONFIG_FILE",
                        process.folder().resolve("rabbitmq.conf").toString()),
                Map.entry(
                        "RABBITMQ_ENABLED_PLUGINS_FILE",
                        process.folder().resolve("enabled_plugins").toString()),
                Map.entry("RABBITMQ_PID_FILE", process.folder().resolve("pid").toString()),
                Map.entry(
                        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                        "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu none +sbwtdio none"));
    }

    String node() {
        return node;
    }

    /** The address, without settings. */
    String uri() {
        return "amqp://guest:guest@127.0.0.1:" + port;
    }

    int port() {
        return port;
    }

    int tlsPort() {
        return tlsPort;
    }

    InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    }

    /** What to trust on {@link #tlsPort}. */
    Path certificate() {
        return Certificate.file(process.folder());
    }

    /** The key of {@link #certificate}. */
    Path key() {
        return Certificate.key(process.folder());
    }

    long pid() {
        return process.process().pid();
    }

    boolean isRunning() {
        return process.isRunning();
    }

    /** Starts the broker, again with its data. It answers a wrong protocol header with its own as soon as it serves. */
    void restart() {
        process.start(List.of(SCRIPTS + "/rabbitmq-server"), () -> ProcessServer.answer(port, "HELLO!!!") == 'A');
        home.own(process.process());
    }

    void stop() {
        process.stop();
    }

    /**
     * Kills the broker, which has no time for a word to anybody. Not at once: a stream that was made less than a second
     * before does not come up again, see docs/internals/rabbitmq-specification.md.
     */
    void kill() {
        try {
            Thread.sleep(STREAMS_SETTLE.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        process.kill();
    }

    /** Removes what the stopped broker stored. */
    void wipe() {
        process.wipe();
    }

    /** Enables or disables a plugin while the broker runs. */
    void plugin(String change, String plugin) {
        process.run(List.of(SCRIPTS + "/rabbitmq-plugins", "-n", node, change, plugin), "");
    }

    /** Gives another node a replica of a stream. */
    void addReplica(String stream, RabbitNode other) {
        process.run(List.of(SCRIPTS + "/rabbitmq-streams", "-n", node, "add_replica", stream, other.node), "");
    }

    @Override
    public String ctl(String... arguments) {
        List<String> command = new ArrayList<>(List.of(SCRIPTS + "/rabbitmqctl", "-n", node));
        command.addAll(List.of(arguments));
        return process.run(command, "");
    }

    /** Takes some ten milliseconds where there is erl_call. */
    @Override
    public String eval(String expression) {
        if (erlCall == null) {
            return ctl("eval", expression);
        }
        String said = call(expression);
        if (!said.startsWith("{ok, ")) {
            throw new IllegalStateException(expression + " made " + said);
        }
        return said.substring("{ok, ".length(), said.length() - 1);
    }

    /** A busy broker may not take the connection at first; nothing was done then. */
    private String call(String expression) {
        List<String> command = List.of(erlCall.toString(), "-sname", node, "-c", home.cookie(), "-e");
        return await().pollInSameThread()
                .atMost(PATIENCE)
                .pollDelay(Duration.ZERO)
                .ignoreExceptionsMatching(
                        failure -> String.valueOf(failure.getMessage()).contains("failed to connect to node"))
                .until(() -> process.run(command, expression + "\n"), Objects::nonNull);
    }

    static Path findErlCall() {
        try (Stream<Path> files =
                Files.find(Path.of("/usr/lib/erlang"), 3, (path, attributes) -> path.endsWith("erl_call"))) {
            return files.findFirst().orElse(null);
        } catch (IOException e) {
            return null;
        }
    }

    /** Kills what runs in its home, and removes that. */
    @Override
    public void close() {
        home.close();
    }
}
