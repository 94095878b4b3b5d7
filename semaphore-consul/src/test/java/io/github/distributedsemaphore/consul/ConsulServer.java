package io.github.distributedsemaphore.consul;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The agent that the tests of this JVM use: one at the address that the system property {@code consul.address} or the
 * environment variable {@code CONSUL_TEST_ADDRESS} gives as {@code host:port}, else one that is started from the binary on
 * the PATH, in development mode on free ports of the loopback, and stopped with the JVM.
 */
final class ConsulServer {
    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final ConsulServer SHARED = find();

    private final String address;

    private ConsulServer(String address) {
        this.address = address;
    }

    static ConsulServer shared() {
        return SHARED;
    }

    /** Returns host and port. */
    String address() {
        return address;
    }

    private static ConsulServer find() {
        String given = System.getProperty("consul.address", System.getenv().getOrDefault("CONSUL_TEST_ADDRESS", ""));
        return given.isEmpty() ? start() : new ConsulServer(given);
    }

    /** Returns the path of the {@code consul} command. */
    static String binary() {
        for (String directory : System.getenv("PATH").split(File.pathSeparator)) {
            Path binary = Path.of(directory, "consul");
            if (Files.isExecutable(binary)) {
                return binary.toString();
            }
        }
        throw new IllegalStateException("These tests need Consul: put the consul command on the PATH (./verify installs"
                + " 1.8.7 on Debian, as root), or give an agent's host:port by -Dconsul.address");
    }

    private static ConsulServer start() {
        List<Integer> ports = freePorts(4);
        String address = "127.0.0.1:" + ports.get(0);
        try {
            Process agent = new ProcessBuilder(
                            binary(),
                            "agent",
                            "-dev",
                            "-node",
                            "test",
                            "-bind",
                            "127.0.0.1",
                            "-http-port",
                            ports.get(0).toString(),
                            "-server-port",
                            ports.get(1).toString(),
                            "-serf-lan-port",
                            ports.get(2).toString(),
                            "-serf-wan-port",
                            ports.get(3).toString(),
                            "-dns-port",
                            "-1",
                            "-grpc-port",
                            "-1",
                            "-hcl",
                            "disable_update_check = true")
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(agent)));
            ConsulServer server = new ConsulServer(address);
            server.awaitLeader(agent);
            return server;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void stop(Process agent) {
        agent.destroyForcibly();
        try {
            agent.waitFor(5, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static List<Integer> freePorts(int number) {
        List<ServerSocket> sockets = new ArrayList<>();
        try {
            for (int i = 0; i < number; i++) {
                sockets.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
            }
            List<Integer> ports =
                    sockets.stream().map(ServerSocket::getLocalPort).toList();
            for (ServerSocket socket : sockets) {
                socket.close();
            }
            return ports;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void awaitLeader(Process agent) throws IOException {
        long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (true) {
            try {
                int status = send("GET", "/v1/kv/none?consistent", "").statusCode();
                if (status == 200 || status == 404) {
                    return;
                }
            } catch (UncheckedIOException e) {
                if (!agent.isAlive()) {
                    throw new IOException("the Consul agent ended with status " + agent.exitValue(), e);
                }
            }
            if (System.nanoTime() - end > 0) {
                throw new IOException("the Consul agent at " + address + " has no leader after 60 s");
            }
            pause();
        }
    }

    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(20);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted", e);
        }
    }

    // What an operator does, past the adapter

    HttpResponse<String> send(String method, String path, String body) {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + address + path))
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .timeout(Duration.ofSeconds(10))
                .build();
        try {
            return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted", e);
        }
    }

    String get(String key) {
        HttpResponse<String> response = send("GET", "/v1/kv/" + key + "?raw&consistent", "");
        return response.statusCode() == 404 ? "" : response.body();
    }

    void put(String key, String value) {
        put(key, value, LockBody.FLAGS.toString());
    }

    void put(String key, String value, String flags) {
        String answer = send("PUT", "/v1/kv/" + key + "?flags=" + flags, value).body();
        if (!answer.strip().equals("true")) {
            throw new IllegalStateException("put of " + key + ": " + answer);
        }
    }

    void delete(String key) {
        send("DELETE", "/v1/kv/" + key, "");
    }

    void deleteBelow(String prefix) {
        send("DELETE", "/v1/kv/" + prefix + "/?recurse", "");
    }

    /** Ends a session as an operator would. */
    void destroySession(String id) {
        send("PUT", "/v1/session/destroy/" + id, "");
    }

    List<String> keys() {
        return strings("/v1/kv/?keys&consistent", "");
    }

    private List<String> strings(String path, String none) {
        HttpResponse<String> response = send("GET", path, none);
        List<String> found = new ArrayList<>();
        if (response.statusCode() == 200) {
            Json.parse(response.body()).getAsJsonArray().forEach(text -> found.add(text.getAsString()));
        }
        return found;
    }

    /** The session ids in the coordination key's list. */
    List<String> holders(String prefix) {
        LockBody body = LockBody.parse(prefix, LockBody.FLAGS.toString(), get(prefix + "/.lock"));
        return List.copyOf(body.holders());
    }
}
