package io.github.distributedsemaphore.rabbitmq;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A broker of our own on free ports of the loopback. Not thread-safe, but for {@link #eval} and {@link #ctl}. */
final class RabbitNode implements BrokerShell, AutoCloseable {
    /** Those of another version, by {@code ./verify --servers}, or Debian's. */
    static final String SCRIPTS = System.getenv().getOrDefault("SEMAPHORE_RABBITMQ_SCRIPTS", "/usr/lib/rabbitmq/bin");

    private static final long START_SECONDS = 90;
    private static final Duration STREAMS_SETTLE = Duration.ofSeconds(2);
    private static final long STOP_SECONDS = 30;

    private final ErlangHome home;
    private final Path folder;
    private final int port = ErlangHome.freePort();
    private final int tlsPort = ErlangHome.freePort();
    private final String node = "test" + port + "@localhost";
    private final Map<String, String> environment;
    private final Path erlCall = findErlCall();
    private Process broker;

    private RabbitNode(ErlangHome home, List<String> configuration) throws IOException {
        this.home = home;
        this.folder = home.newFolder("node" + port);
        Certificate.make(folder);
        List<String> lines = new ArrayList<>(configuration());
        lines.addAll(configuration);
        Files.write(folder.resolve("rabbitmq.conf"), lines);
        this.environment = environment();
        this.broker = launch();
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
                "ssl_options.cacertfile = " + Certificate.file(folder),
                "ssl_options.certfile = " + Certificate.file(folder),
                "ssl_options.keyfile = " + Certificate.key(folder),
                "ssl_options.verify = verify_none");
    }

    private Map<String, String> environment() {
        return Map.ofEntries(
                // So that the script becomes the broker, and does not stand before it.
                Map.entry("RUNNING_UNDER_SYSTEMD", "true"),
                Map.entry("RABBITMQ_NODENAME", node),
                Map.entry("RABBITMQ_NODE_PORT", Integer.toString(port)),
                Map.entry("RABBITMQ_DIST_PORT", Integer.toString(ErlangHome.freePort())),
                Map.entry("RABBITMQ_MNESIA_BASE", data().toString()),
                Map.entry("RABBITMQ_LOG_BASE", folder.resolve("log").toString()),
                Map.entry(
                        "RABBITMQ_CONFIG_FILE", folder.resolve("rabbitmq.conf").toString()),
                Map.entry(
                        "RABBITMQ_ENABLED_PLUGINS_FILE",
                        folder.resolve("enabled_plugins").toString()),
                Map.entry("RABBITMQ_PID_FILE", folder.resolve("pid").toString()),
                Map.entry(
                        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                        "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none"));
    }

    private Path data() {
        return folder.resolve("data");
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
        return Certificate.file(folder);
    }

    /** The key of {@link #certificate}. */
    Path key() {
        return Certificate.key(folder);
    }

    long pid() {
        return broker.pid();
    }

    boolean isRunning() {
        return broker.isAlive();
    }

    private Process launch() throws IOException {
        Path log = folder.resolve("broker.log");
        Process started = process(List.of(SCRIPTS + "/rabbitmq-server"))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
        home.own(started);
        awaitServing(started, log);
        return started;
    }

    /** Starts the stopped broker again with its data. */
    void restart() {
        try {
            broker = launch();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void stop() {
        broker.destroy();
        awaitEnd(ErlangHome.SIGTERM, 0);
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
        broker.destroyForcibly();
        awaitEnd(ErlangHome.SIGKILL, ErlangHome.SIGKILL);
    }

    private void awaitEnd(int... statuses) {
        try {
            if (!broker.waitFor(STOP_SECONDS, TimeUnit.SECONDS)
                    || Arrays.stream(statuses).noneMatch(status -> status == broker.exitValue())) {
                throw new IllegalStateException("the broker did not end as it was told to: " + broker);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted while the broker was ending", e);
        }
    }

    /** Removes what the stopped broker stored. */
    void wipe() {
        ErlangHome.delete(data());
    }

    private ProcessBuilder process(List<String> command) {
        ProcessBuilder builder = home.process(command);
        builder.environment().putAll(environment);
        return builder;
    }

    private void awaitServing(Process started, Path log) throws IOException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
        while (!greets()) {
            if (!started.isAlive() || System.nanoTime() - end > 0) {
                started.destroyForcibly();
                throw new IllegalStateException("The broker did not start:\n" + Files.readString(log));
            }
            pause();
        }
    }

    /** Answers a wrong protocol header with its own as soon as it serves. */
    private boolean greets() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(1_000);
            socket.getOutputStream().write("HELLO!!!".getBytes(StandardCharsets.US_ASCII));
            return socket.getInputStream().read() == 'A';
        } catch (IOException e) {
            return false;
        }
    }

    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(50);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted while the broker was starting", e);
        }
    }

    /** Enables or disables a plugin while the broker runs. */
    void plugin(String change, String plugin) {
        run(List.of(SCRIPTS + "/rabbitmq-plugins", "-n", node, change, plugin), "");
    }

    @Override
    public String ctl(String... arguments) {
        List<String> command = new ArrayList<>(List.of(SCRIPTS + "/rabbitmqctl", "-n", node));
        command.addAll(List.of(arguments));
        return run(command, "");
    }

    /** Takes some ten milliseconds where there is erl_call. */
    @Override
    public String eval(String expression) {
        if (erlCall == null) {
            return ctl("eval", expression);
        }
        String said = run(List.of(erlCall.toString(), "-sname", node, "-c", home.cookie(), "-e"), expression + "\n");
        if (!said.startsWith("{ok, ")) {
            throw new IllegalStateException(expression + " made " + said);
        }
        return said.substring("{ok, ".length(), said.length() - 1);
    }

    static Path findErlCall() {
        try (Stream<Path> files =
                Files.find(Path.of("/usr/lib/erlang"), 3, (path, attributes) -> path.endsWith("erl_call"))) {
            return files.findFirst().orElse(null);
        } catch (IOException e) {
            return null;
        }
    }

    private String run(List<String> command, String input) {
        try {
            Process process = process(command).redirectErrorStream(true).start();
            try (OutputStream in = process.getOutputStream()) {
                in.write(input.getBytes(StandardCharsets.UTF_8));
            }
            try (InputStream out = process.getInputStream()) {
                String said = new String(out.readAllBytes(), StandardCharsets.UTF_8);
                if (process.waitFor() != 0) {
                    throw new IllegalStateException(command.get(0) + " failed: " + said);
                }
                return said;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted while waiting for " + command.get(0), e);
        }
    }

    /** Kills what runs in its home, and removes that. */
    @Override
    public void close() {
        home.close();
    }
}
