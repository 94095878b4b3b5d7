package io.github.distributedsemaphore.spring.app;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Servers as applications have them, on free ports of the loopback; they end with the test. */
final class Servers implements AutoCloseable {
    private static final String BROKER = "/usr/lib/rabbitmq/bin/rabbitmq-server";

    private final Path folder;
    private final List<Process> running = new ArrayList<>();

    /** A certificate for 127.0.0.1, its key, and the certificate of its signer. */
    record Identity(Path authority, Path certificate, Path key) {}

    Servers(Path folder) {
        this.folder = folder;
    }

    int port() throws IOException {
        return Processes.freePort();
    }

    Identity identity() throws IOException, InterruptedException {
        Identity made = new Identity(
                folder.resolve("authority.pem"), folder.resolve("certificate.pem"), folder.resolve("key.pem"));
        String authorityKey = folder.resolve("authority.key").toString();
        openssl("/CN=an authority", made.authority(), authorityKey);
        openssl(
                "/CN=a test",
                made.certificate(),
                made.key().toString(),
                "-CA",
                made.authority().toString(),
                "-CAkey",
                authorityKey,
                "-addext",
                "basicConstraints=critical,CA:FALSE",
                "-addext",
                "subjectAltName=IP:127.0.0.1");
        return made;
    }

    private void openssl(String name, Path certificate, String key, String... more)
            throws IOException, InterruptedException {
        Path log = folder.resolve("openssl.log");
        List<String> command = new ArrayList<>(
                List.of("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", name));
        command.addAll(List.of("-keyout", key, "-out", certificate.toString()));
        Collections.addAll(command, more);
        if (Processes.start(log, command).waitFor() != 0) {
            throw new IOException("openssl: " + Files.readString(log));
        }
    }

    int redis(String... options) throws IOException {
        int port = port();
        startRedis(port, options);
        return port;
    }

    int encryptedRedis(int plain, Identity identity) throws IOException {
        int port = port();
        startRedis(
                plain,
                "--tls-port",
                Integer.toString(port),
                "--tls-cert-file",
                identity.certificate().toString(),
                "--tls-key-file",
                identity.key().toString(),
                "--tls-ca-cert-file",
                identity.authority().toString(),
                "--tls-auth-clients",
                "yes");
        return port;
    }

    private void startRedis(int port, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                "redis-server", "--port", "" + port, "--bind", "127.0.0.1", "--save", "", "--dir", folder.toString()));
        Collections.addAll(command, options);
        own(port, "PING\r\n", Map.of(), command);
    }

    /** Knows the master by the name {@code main}. */
    int sentinel(int master, String password) throws IOException {
        int port = port();
        Path file = Files.writeString(
                folder.resolve("sentinel.conf"),
                String.join(
                        "\n",
                        "port " + port,
                        "bind 127.0.0.1",
                        "dir " + folder,
                        "sentinel monitor main 127.0.0.1 " + master + " 1",
                        "sentinel auth-pass main " + password,
                        ""));
        own(port, "PING\r\n", Map.of(), List.of("redis-server", file.toString(), "--sentinel"));
        return port;
    }

    int rabbit(int encrypted, Identity identity) throws IOException {
        int port = port();
        Path configuration = Files.write(
                folder.resolve("rabbitmq.conf"),
                List.of(
                        "loopback_users = none",
                        "listeners.tcp.1 = 127.0.0.1:" + port,
                        "listeners.ssl.1 = 127.0.0.1:" + encrypted,
                        "ssl_options.cacertfile = " + identity.authority(),
                        "ssl_options.certfile = " + identity.certificate(),
                        "ssl_options.keyfile = " + identity.key(),
                        "ssl_options.verify = verify_peer",
                        "ssl_options.fail_if_no_peer_cert = true"));
        int mapper = port();
        Map<String, String> environment = Map.ofEntries(
                // So that the script becomes the broker, and does not stand before it.
                Map.entry("RUNNING_UNDER_SYSTEMD", "true"),
                Map.entry("HOME", folder.toString()),
                Map.entry("ERL_EPMD_PORT", Integer.toString(mapper)),
                Map.entry("ERL_EPMD_ADDRESS", "127.0.0.1"),
                Map.entry("RABBITMQ_NODENAME", "boot" + port + "@localhost"),
                Map.entry("RABBITMQ_NODE_PORT", Integer.toString(port)),
                Map.entry("RABBITMQ_DIST_PORT", Integer.toString(port())),
                Map.entry("RABBITMQ_MNESIA_BASE", folder.resolve("data").toString()),
                Map.entry("RABBITMQ_LOG_BASE", folder.resolve("logs").toString()),
                Map.entry("RABBITMQ_CONFIG_FILE", configuration.toString()),
                Map.entry(
                        "RABBITMQ_ENABLED_PLUGINS_FILE",
                        folder.resolve("enabled_plugins").toString()),
                Map.entry("RABBITMQ_PID_FILE", folder.resolve("pid").toString()),
                Map.entry(
                        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                        "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu none +sbwtdio none"));
        // Left to the broker it would be a daemon that outlives the test.
        own(mapper, null, environment, List.of("epmd"));
        own(port, "HELLO!!!", environment, List.of(BROKER));
        return port;
    }

    /** Starts a server and waits until it answers the greeting, if there is one, and else until it listens. */
    private void own(int port, String greeting, Map<String, String> environment, List<String> command)
            throws IOException {
        Path log = folder.resolve("server" + port + ".log");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment().putAll(environment);
        Process server = builder.start();
        running.add(server);
        await().atMost(Processes.START).until(() -> {
            if (!server.isAlive()) {
                throw new IllegalStateException(Files.readString(log));
            }
            return answers(port, greeting);
        });
    }

    private static boolean answers(int port, String greeting) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            if (greeting == null) {
                return true;
            }
            socket.setSoTimeout((int) TimeUnit.SECONDS.toMillis(1));
            socket.getOutputStream().write(greeting.getBytes(StandardCharsets.US_ASCII));
            return socket.getInputStream().read() >= 0;
        } catch (IOException e) {
            return false;
        }
    }

    /** The last one first: a port mapper goes after its broker. */
    @Override
    public void close() {
        Collections.reverse(running);
        running.forEach(Processes::end);
    }
}
