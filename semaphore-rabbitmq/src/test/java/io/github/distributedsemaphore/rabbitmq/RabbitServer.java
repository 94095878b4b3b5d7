package io.github.distributedsemaphore.rabbitmq;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The broker of a test JVM: the one whose address is given by the system property {@code rabbitmq.uri} or the environment
 * variable {@code RABBITMQ_URI}, else one that is started on free ports of the loopback, in a folder of its own and with a
 * port mapper of its own, and stopped when the JVM ends.
 */
final class RabbitServer {
    private static final String SCRIPTS = "/usr/lib/rabbitmq/bin";
    private static final long START_SECONDS = 90;
    private static final RabbitServer INSTANCE = new RabbitServer();

    private final String uri;
    private final List<Path> folders = new ArrayList<>();
    private Map<String, String> environment = Map.of();
    private final Path erlCall = findErlCall();
    private int tlsPort;
    private Process broker;

    private RabbitServer() {
        String given = System.getProperty("rabbitmq.uri", System.getenv().getOrDefault("RABBITMQ_URI", ""));
        try {
            uri = given.isEmpty() ? start() : given;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The address, without settings. */
    static String uri() {
        return INSTANCE.uri;
    }

    static int port() {
        return Integer.parseInt(uri().replaceAll(".*:(\\d+).*", "$1"));
    }

    static int tlsPort() {
        return INSTANCE.tlsPort;
    }

    /** What to trust on {@link #tlsPort}. */
    static Path certificate() {
        return Certificate.file(Path.of(INSTANCE.environment.get("HOME")));
    }

    private String start() throws IOException {
        if (!Files.isExecutable(Path.of(SCRIPTS, "rabbitmq-server"))) {
            throw new IllegalStateException(
                    "There is no broker to test with: install one (Debian: apt-get install rabbitmq-server; it need"
                            + " not run), or name one by -Drabbitmq.uri=amqp://user:password@host:port");
        }
        int port = freePort();
        Path home = Files.createTempDirectory("semaphore-rabbitmq");
        folders.add(home);
        Path config = home.resolve("rabbitmq.conf");
        Certificate.make(home);
        tlsPort = freePort();
        Files.writeString(config, configuration(port, home));
        environment = Map.ofEntries(
                Map.entry("HOME", home.toString()),
                Map.entry("ERL_EPMD_PORT", Integer.toString(freePort())),
                Map.entry("ERL_EPMD_ADDRESS", "127.0.0.1"),
                Map.entry("RABBITMQ_NODENAME", "test" + port + "@localhost"),
                Map.entry("RABBITMQ_NODE_PORT", Integer.toString(port)),
                Map.entry("RABBITMQ_DIST_PORT", Integer.toString(freePort())),
                Map.entry("RABBITMQ_MNESIA_BASE", home.resolve("mnesia").toString()),
                Map.entry("RABBITMQ_LOG_BASE", home.resolve("log").toString()),
                Map.entry("RABBITMQ_CONFIG_FILE", config.toString()),
                Map.entry(
                        "RABBITMQ_ENABLED_PLUGINS_FILE",
                        home.resolve("enabled_plugins").toString()),
                Map.entry("RABBITMQ_PID_FILE", home.resolve("pid").toString()),
                Map.entry(
                        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                        "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none"));
        Runtime.getRuntime().addShutdownHook(new Thread(this::stop));
        launch(port);
        return "amqp://guest:guest@127.0.0.1:" + port;
    }

    private String configuration(int port, Path home) {
        return String.join(
                "\n",
                "loopback_users = none",
                "listeners.tcp.1 = 127.0.0.1:" + port,
                "listeners.ssl.1 = 127.0.0.1:" + tlsPort,
                "ssl_options.cacertfile = " + Certificate.file(home),
                "ssl_options.certfile = " + Certificate.file(home),
                "ssl_options.keyfile = " + Certificate.key(home),
                "ssl_options.verify = verify_none",
                "");
    }

    private void launch(int port) throws IOException {
        Path log = Path.of(environment.get("HOME"), "broker.log");
        broker = process(List.of(SCRIPTS + "/rabbitmq-server"))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
        awaitListening(port, log);
    }

    /** Kills the broker, which has no time for a word to anybody, and starts it again with its data. */
    static void killAndRestart() {
        try {
            INSTANCE.kill();
            INSTANCE.launch(port());
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException("the broker did not restart", e);
        }
    }

    private void kill() throws InterruptedException {
        List<ProcessHandle> all = broker.descendants().toList();
        all.forEach(ProcessHandle::destroyForcibly);
        broker.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
        all.forEach(process -> process.onExit().join());
    }

    /** Enables or disables a plugin while the broker runs. */
    static void plugin(String change, String plugin) {
        INSTANCE.run(List.of(SCRIPTS + "/rabbitmq-plugins", "-n", INSTANCE.node(), change, plugin), "");
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private ProcessBuilder process(List<String> command) {
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().putAll(environment);
        return builder;
    }

    private void awaitListening(int port, Path log) throws IOException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
        while (!greets(port)) {
            if (!broker.isAlive() || System.nanoTime() > end) {
                throw new IllegalStateException("The broker did not start:\n" + Files.readString(log));
            }
            pause();
        }
    }

    /** Answers a wrong protocol header with its own as soon as it serves. */
    private static boolean greets(int port) {
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
            TimeUnit.MILLISECONDS.sleep(100);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted while the broker was starting", e);
        }
    }

    /** Tells whether it is a broker of our own, on which {@link #ctl} and {@link #eval} work. */
    static boolean isOurs() {
        return INSTANCE.broker != null;
    }

    /** Runs rabbitmqctl. Takes a second or two. */
    static String ctl(String... arguments) {
        List<String> command = new ArrayList<>(List.of(SCRIPTS + "/rabbitmqctl", "-n", INSTANCE.node()));
        command.addAll(List.of(arguments));
        return INSTANCE.run(command, "");
    }

    private String node() {
        return environment.get("RABBITMQ_NODENAME");
    }

    /** Evaluates an Erlang expression that makes a string, in some ten milliseconds where there is erl_call. */
    static String eval(String expression) {
        Path caller = INSTANCE.erlCall;
        if (caller == null) {
            return ctl("eval", expression);
        }
        String said = INSTANCE.run(
                List.of(caller.toString(), "-sname", INSTANCE.node(), "-c", INSTANCE.cookie(), "-e"),
                expression + "\n");
        if (!said.startsWith("{ok, ")) {
            throw new IllegalStateException(expression + " made " + said);
        }
        return said.substring("{ok, ".length(), said.length() - 1);
    }

    private static Path findErlCall() {
        try (Stream<Path> files =
                Files.find(Path.of("/usr/lib/erlang"), 3, (path, attributes) -> path.endsWith("erl_call"))) {
            return files.findFirst().orElse(null);
        } catch (IOException e) {
            return null;
        }
    }

    private String cookie() {
        try {
            return Files.readString(Path.of(environment.get("HOME"), ".erlang.cookie"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
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

    /** The names of all queues of this library. */
    static List<String> queues() {
        String names = eval("base64:encode_to_string(iolist_to_binary("
                + "[[N, 10] || {resource, _, queue, N} <- rabbit_amqqueue:list_names()])).");
        String encoded = names.replaceAll("[^A-Za-z0-9+/=]", "");
        String decoded = new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
        return decoded.lines()
                .filter(line -> line.startsWith(QueueNames.PREFIX))
                .toList();
    }

    /** Deletes a queue as an operator does, whoever has it. */
    static void delete(String queue) {
        String bytes = Base64.getEncoder().encodeToString(queue.getBytes(StandardCharsets.UTF_8));
        eval("{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, base64:decode(\"" + bytes + "\"))),"
                + " {ok, _} = rabbit_amqqueue:delete(Q, false, false, <<\"test\">>), ok.");
    }

    private void stop() {
        try {
            if (broker != null) {
                kill();
            }
            process(List.of("epmd", "-kill")).start().waitFor(5, TimeUnit.SECONDS);
            for (Path folder : folders) {
                try (Stream<Path> files = Files.walk(folder)) {
                    files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
                }
            }
        } catch (IOException | InterruptedException e) {
            System.err.println("the test broker did not end in order: " + e);
        }
    }
}
