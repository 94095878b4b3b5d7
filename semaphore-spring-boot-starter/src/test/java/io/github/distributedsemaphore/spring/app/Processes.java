package io.github.distributedsemaphore.spring.app;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** The processes of a test, which end with it. */
final class Processes {
    static final Duration START = Duration.ofSeconds(60);

    private Processes() {}

    /** What an application leaves out that has one server: Spring Boot configures a connection to each whose library it finds. */
    static String withoutOther(String server) {
        return server.equals("redis")
                ? "org.springframework.boot.amqp.autoconfigure.RabbitAutoConfiguration,"
                        + "org.springframework.boot.autoconfigure.amqp.RabbitAutoConfiguration"
                : "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration,"
                        + "org.springframework.boot.autoconfigure.data.redis.RedisAutoConfiguration";
    }

    /** Below those that the system gives to outgoing connections, which come and go between this look and the server's start. */
    static int freePort() {
        while (true) {
            int port = 12_000 + ThreadLocalRandom.current().nextInt(20_000);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (IOException e) {
                // Another one is using it.
            }
        }
    }

    static Process start(Path log, List<String> command) throws IOException {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
    }

    static void end(Process process) {
        process.destroyForcibly();
        process.onExit().join();
    }

    /** A server of its own for each test. */
    record Redis(int port, Process process, Path folder) implements AutoCloseable {
        static Redis start(Path folder) throws IOException {
            int port = freePort();
            Process process = Processes.start(
                    folder.resolve("redis.log"),
                    List.of(
                            "redis-server",
                            "--port",
                            "" + port,
                            "--bind",
                            "127.0.0.1",
                            "--save",
                            "",
                            "--dir",
                            folder.toString()));
            await().atMost(START).until(() -> answers(port));
            return new Redis(port, process, folder);
        }

        private static boolean answers(int port) {
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                return socket.isConnected();
            } catch (IOException e) {
                return false;
            }
        }

        /** Ends the exports of the application. */
        void endExports() throws IOException {
            Files.createFile(folder.resolve("end"));
        }

        /** Has it stand still: connections stay open and nothing is answered. */
        void stop() throws InterruptedException {
            signal("STOP");
        }

        void go() throws InterruptedException {
            signal("CONT");
        }

        private void signal(String name) throws InterruptedException {
            try {
                new ProcessBuilder("sh", "-c", "kill -s " + name + " " + process.pid())
                        .start()
                        .waitFor();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void close() {
            end(process);
        }
    }

    /** The application on a free port. */
    record Application(int port, Process process, Path log, HttpClient http) implements AutoCloseable {
        static Application start(Redis redis, String... options) throws IOException {
            int port = freePort();
            List<String> command = new ArrayList<>(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-cp",
                    System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                    "-XX:TieredStopAtLevel=1",
                    ExportApplication.class.getName(),
                    "--server.address=127.0.0.1",
                    "--server.port=" + port,
                    "--spring.application.name=exporter",
                    "--spring.autoconfigure.exclude=" + withoutOther("redis"),
                    "--spring.data.redis.host=127.0.0.1",
                    "--spring.data.redis.port=" + redis.port(),
                    "--exports.semaphore=exports",
                    "--exports.end=" + redis.folder().resolve("end"),
                    "--distributed-semaphore.semaphores.exports.limit=3",
                    "--management.endpoints.web.exposure.include=health,semaphores",
                    "--management.endpoint.health.show-details=always"));
            Collections.addAll(command, options);
            Path log = redis.folder().resolve("application.log");
            Application app = new Application(
                    port,
                    Processes.start(log, command),
                    log,
                    HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build());
            await().atMost(START).until(app::isUp);
            return app;
        }

        private boolean isUp() throws IOException {
            if (!process.isAlive()) {
                throw new IllegalStateException(Files.readString(log));
            }
            try {
                return get("/exportIfFree").statusCode() == 200;
            } catch (UncheckedIOException e) {
                return false;
            }
        }

        HttpResponse<String> get(String path) {
            try {
                return http.send(request(path), HttpResponse.BodyHandlers.ofString());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        CompletableFuture<HttpResponse<String>> begin(String path) {
            return http.sendAsync(request(path), HttpResponse.BodyHandlers.ofString());
        }

        private HttpRequest request(String path) {
            return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                    .build();
        }

        /** Sends SIGTERM. */
        void terminate() {
            process.destroy();
        }

        void awaitEnd() throws InterruptedException {
            if (!process.waitFor(30, TimeUnit.SECONDS)) {
                throw new IllegalStateException("The application has not ended within 30 s");
            }
        }

        @Override
        public void close() {
            end(process);
        }
    }
}
