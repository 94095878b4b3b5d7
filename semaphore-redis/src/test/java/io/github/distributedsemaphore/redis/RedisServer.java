package io.github.distributedsemaphore.redis;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A server for tests: {@code redis-server} from the PATH, on a free port of the loopback address, with a folder of its own.
 * All tests of a run share one, which ends with the JVM; a test that stops or fills its server starts one for itself.
 */
final class RedisServer implements AutoCloseable {
    private static final Duration START = Duration.ofSeconds(20);

    private final Path folder;
    private final int port;
    private final List<String> options;
    private Process process;

    private RedisServer(Path folder, int port, List<String> options) {
        this.folder = folder;
        this.port = port;
        this.options = options;
        this.process = launch();
    }

    private static final class Shared {
        static final RedisServer SERVER = start();

        static {
            Runtime.getRuntime().addShutdownHook(new Thread(SERVER::close, "stop redis-server"));
        }
    }

    /** The address of the server that all tests share: the one given by property or environment, or one of our own. */
    static String address() {
        String given = System.getProperty("semaphore.redis.uri", System.getenv("SEMAPHORE_REDIS_URI"));
        return given == null || given.isEmpty() ? Shared.SERVER.uri() : given;
    }

    static RedisServer start(String... options) {
        try {
            return new RedisServer(Files.createTempDirectory("redis-test"), freePort(), List.of(options));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private Process launch() {
        List<String> command = new ArrayList<>(List.of(
                "redis-server",
                "--port",
                Integer.toString(port),
                "--bind",
                "127.0.0.1",
                "--dir",
                folder.toString(),
                "--save",
                "",
                "--appendonly",
                "yes"));
        command.addAll(options);
        try {
            Process started = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(new File(folder.toFile(), "log"))
                    .start();
            awaitReady(started);
            return started;
        } catch (IOException e) {
            throw new IllegalStateException(
                    "No redis-server on the PATH: install it (Debian: apt-get install redis-server), or give the address"
                            + " of a server of version 6.2 or newer by -Dsemaphore.redis.uri=redis://host:port",
                    e);
        }
    }

    private void awaitReady(Process started) throws IOException {
        long end = System.nanoTime() + START.toNanos();
        while (!answers()) {
            if (!started.isAlive() || System.nanoTime() - end > 0) {
                throw new IOException("redis-server did not start: " + Files.readString(folder.resolve("log")));
            }
            Thread.onSpinWait();
        }
    }

    private boolean answers() {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 100);
            socket.setSoTimeout(1_000);
            socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
            return new String(socket.getInputStream().readNBytes(5), StandardCharsets.US_ASCII)
                    .matches("\\+PONG|-NOAU");
        } catch (IOException e) {
            return false;
        }
    }

    String uri() {
        return "redis://127.0.0.1:" + port;
    }

    int port() {
        return port;
    }

    /** Ends it as a crash would. */
    void kill() {
        process.destroyForcibly();
        await();
    }

    void restart() {
        process = launch();
    }

    private void await() {
        try {
            process.waitFor(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        kill();
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder())
                    .forEach(file -> file.toFile().delete());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
