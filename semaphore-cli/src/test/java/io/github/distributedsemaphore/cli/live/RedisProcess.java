package io.github.distributedsemaphore.cli.live;

import io.github.distributedsemaphore.tck.link.FreePorts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Assumptions;

/** A {@code redis-server} of a test's own, at a port that stays the same when it is started again. */
public final class RedisProcess implements AutoCloseable {
    private final Path folder;
    private final int port;
    private Process process;

    public RedisProcess(Path folder) {
        this.folder = folder;
        this.port = FreePorts.choose(1).get(0);
        Assumptions.assumeTrue(isInstalled(), "there is no redis-server on the PATH");
        start();
    }

    private static boolean isInstalled() {
        try {
            return new ProcessBuilder("redis-server", "--version").start().waitFor() == 0;
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public String uri() {
        return "redis://127.0.0.1:" + port;
    }

    void start() {
        try {
            process = new ProcessBuilder(
                            "redis-server",
                            "--port",
                            "" + port,
                            "--bind",
                            "127.0.0.1",
                            "--save",
                            "",
                            "--dir",
                            "" + folder)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Awaitility.await().atMost(Duration.ofSeconds(20)).ignoreExceptions().until(() -> {
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                return socket.isConnected();
            }
        });
    }

    void stop() {
        process.destroyForcibly().onExit().join();
    }

    /** Has the process stand still, or go on, by a signal. */
    void signal(String name) throws IOException, InterruptedException {
        int code = new ProcessBuilder("sh", "-c", "kill -s " + name + " " + process.pid())
                .inheritIO()
                .start()
                .waitFor();
        if (code != 0) {
            throw new IllegalStateException("kill ended with " + code);
        }
    }

    @Override
    public void close() {
        stop();
    }
}
