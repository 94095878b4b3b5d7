package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.spi.support.HostAndPort;
import io.github.distributedsemaphore.tck.agent.Signals;
import io.github.distributedsemaphore.tck.harness.ProcessServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A server for tests: {@code redis-server} from the PATH, or else the {@linkplain EmbeddedRedis embedded one}, on a free port
 * of the loopback address, with a folder of its own. All tests of a run share one, which ends with the JVM; a test that
 * stops or fills its server starts one for itself.
 */
public final class RedisServer implements KitServer {
    private static final Duration START = Duration.ofSeconds(20);
    private static final String SENTINEL = "--sentinel";

    private static RedisServer shared;

    private final ProcessServer process = new ProcessServer("redis-server");
    private final String program;
    private final int port;
    private final List<String> options;

    private RedisServer(String program, int port, List<String> options) {
        this.program = program;
        this.port = port;
        this.options = options;
        launch();
    }

    /** Started when it is wanted first, and tried again by the next test if that failed. */
    private static synchronized RedisServer shared() {
        if (shared == null) {
            shared = start();
        }
        return shared;
    }

    /** The address of the server that all tests share: the one given by property or environment, or one of our own. */
    public static String address() {
        String given = System.getProperty("semaphore.redis.uri", System.getenv("SEMAPHORE_REDIS_URI"));
        return given == null || given.isEmpty() ? shared().uri() : given;
    }

    public static RedisServer start(String... options) {
        return startAt(freePort(), options);
    }

    static RedisServer startAt(int port, String... options) {
        return start(EmbeddedRedis.isWanted() ? EmbeddedRedis.program() : "redis-server", port, options);
    }

    static RedisServer startEmbedded() {
        return start(EmbeddedRedis.program(), freePort());
    }

    private static RedisServer start(String program, int port, String... options) {
        return new RedisServer(program, port, List.of(options));
    }

    /** A node of a cluster that is to be. */
    static RedisServer startNode(String... options) {
        List<String> all = new ArrayList<>(List.of("--cluster-enabled", "yes", "--cluster-node-timeout", "2000"));
        all.addAll(List.of(options));
        return startAt(FreePort.ofNode(), all.toArray(String[]::new));
    }

    /** A server that takes the command DEBUG. */
    static RedisServer startForDebug(String... options) {
        List<String> all = new ArrayList<>(List.of(options));
        if (!EmbeddedRedis.isWanted()) {
            // Unknown before 7.0, which takes it always.
            all.addAll(List.of("--enable-debug-command", "yes"));
        }
        return start(all.toArray(String[]::new));
    }

    static int freePort() {
        return FreePort.any();
    }

    /** A sentinel that watches over a server, and is enough on its own to call another one the master. */
    static RedisServer sentinel(String master, int watched, String password, String... more) {
        List<String> lines = new ArrayList<>(List.of(
                SENTINEL,
                "sentinel monitor " + master + " 127.0.0.1 " + watched + " 1",
                "sentinel auth-pass " + master + " " + password,
                "sentinel down-after-milliseconds " + master + " 300",
                "sentinel failover-timeout " + master + " 3000"));
        lines.addAll(List.of(more));
        return start(lines.toArray(String[]::new));
    }

    private List<String> command() throws IOException {
        if (!options.isEmpty() && options.get(0).equals(SENTINEL)) {
            // A sentinel keeps in its file what it knows.
            List<String> lines = new ArrayList<>(List.of("port " + port, "bind 127.0.0.1", "dir " + process.data()));
            lines.addAll(options.subList(1, options.size()));
            Path file = process.folder().resolve("sentinel.conf");
            Files.write(file, lines);
            return List.of(program, file.toString(), SENTINEL);
        }
        List<String> command = new ArrayList<>(List.of(
                program,
                "--port",
                Integer.toString(port),
                "--bind",
                "127.0.0.1",
                "--dir",
                process.data().toString(),
                "--save",
                "",
                "--appendonly",
                "yes"));
        command.addAll(options);
        return command;
    }

    private void launch(String... more) {
        try {
            Files.createDirectories(process.data());
            List<String> command = new ArrayList<>(command());
            command.addAll(List.of(more));
            process.start(command, this::answers);
        } catch (IOException | UncheckedIOException e) {
            throw new IllegalStateException(
                    "Cannot run " + program + ": install it (Debian: apt-get install redis-server), or give the address"
                            + " of a server of version 6.2 or newer by -Dsemaphore.redis.uri=redis://host:port",
                    e);
        }
    }

    private boolean answers() {
        return say("PING").matches("\\+PONG|-NOAUTH .*|-LOADING .*");
    }

    /** Says one command, past every client library and also while the server reads its data; empty without an answer. */
    String say(String command) {
        return say("127.0.0.1", port, command);
    }

    static String say(String host, int port, String command) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(host, port), 100);
            socket.setSoTimeout(1_000);
            socket.getOutputStream().write((command + "\r\n").getBytes(StandardCharsets.US_ASCII));
            return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII))
                    .lines()
                    .findFirst()
                    .orElse("");
        } catch (IOException | UncheckedIOException e) {
            return "";
        }
    }

    /** The text that a command is answered with. */
    String bulk(String command) {
        return bulk("127.0.0.1", port, command);
    }

    static String bulk(String host, int port, String command) {
        String all = all(host, port, command);
        int start = all.indexOf("\r\n") + 2;
        return all.substring(start, start + Integer.parseInt(all.substring(1, start - 2)));
    }

    /** All that a command is answered with, as it comes over the wire. */
    static String all(String host, int port, String command) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(host, port), 500);
            socket.setSoTimeout(5_000);
            socket.getOutputStream().write((command + "\r\n").getBytes(StandardCharsets.US_ASCII));
            // A sentinel does not know QUIT.
            socket.shutdownOutput();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public String uri() {
        return "redis://127.0.0.1:" + port;
    }

    @Override
    public HostAndPort forReplicas() {
        return new HostAndPort("127.0.0.1", port);
    }

    public int port() {
        return port;
    }

    /** Ends it as a crash would. */
    @Override
    public void kill() {
        process.kill();
    }

    /** Ends it in order. */
    @Override
    public void stop() {
        process.stop();
    }

    @Override
    public boolean isRunning() {
        return process.isRunning();
    }

    /** Removes what a server that does not run has stored. */
    @Override
    public void wipe() {
        process.wipe();
    }

    @Override
    public List<Long> processes() {
        return List.of(process.process().pid());
    }

    /** Stops it without ending it: connections stay, answers do not come. */
    void freeze() {
        Signals.stop(process.process().pid());
    }

    /** Has it go on after {@link #freeze}. */
    void thaw() {
        Signals.resume(process.process().pid());
    }

    /** Starts it again; it has its data when this returns. */
    @Override
    public void restart() {
        launch();
        long end = System.nanoTime() + START.toNanos();
        while (say("PING").startsWith("-LOADING")) {
            if (System.nanoTime() - end > 0) {
                throw new IllegalStateException("redis-server does not get done with reading its data");
            }
            Thread.onSpinWait();
        }
    }

    /** Starts it again with more options; it may still read its data when this returns. */
    void beginRestart(String... more) {
        launch(more);
    }

    @Override
    public void close() {
        process.close();
    }
}
