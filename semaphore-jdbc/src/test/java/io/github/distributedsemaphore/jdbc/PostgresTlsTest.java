package io.github.distributedsemaphore.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server with TLS: a client that names who signs its certificate trusts nobody else. */
class PostgresTlsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final String STORE_PASSWORD = "changeit";

    @TempDir
    static Path folder;

    private static PostgresServer server;

    @BeforeAll
    static void start() throws Exception {
        certificate("server");
        certificate("other");
        server = PostgresServer.started();
        Path certificate = server.install("server.crt", Files.readString(folder.resolve("server.crt")));
        Path key = server.install("server.key", Files.readString(folder.resolve("server.key")));
        server.execute(
                "ALTER SYSTEM SET ssl_cert_file = '" + certificate + "'",
                "ALTER SYSTEM SET ssl_key_file = '" + key + "'",
                "ALTER SYSTEM SET ssl = on",
                "SELECT pg_reload_conf()");
        await("the server speaks TLS")
                .atMost(PATIENCE)
                .until(() -> server.query("SHOW ssl").equals(List.of("on")));
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    /** Makes a certificate for the loopback address that nobody signs but itself, and its key, in PEM. */
    private static void certificate(String name) throws Exception {
        Path store = folder.resolve(name + ".p12");
        String keytool =
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
        String arguments = "-genkeypair -alias it -keyalg EC -dname CN=" + name + " -ext san=ip:127.0.0.1 -validity 2"
                + " -storetype PKCS12 -keystore " + store + " -storepass " + STORE_PASSWORD;
        Path log = folder.resolve(name + ".log");
        Process made = new ProcessBuilder((keytool + " " + arguments).split(" "))
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        if (!made.waitFor(60, TimeUnit.SECONDS) || made.exitValue() != 0) {
            throw new IOException(Files.readString(log));
        }
        KeyStore keys = KeyStore.getInstance(store.toFile(), STORE_PASSWORD.toCharArray());
        pem(name + ".crt", "CERTIFICATE", keys.getCertificate("it").getEncoded());
        pem(
                name + ".key",
                "PRIVATE KEY",
                keys.getKey("it", STORE_PASSWORD.toCharArray()).getEncoded());
    }

    private static void pem(String file, String what, byte[] content) throws IOException {
        String text = Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII))
                .encodeToString(content);
        Files.writeString(
                folder.resolve(file), "-----BEGIN " + what + "-----\n" + text + "\n-----END " + what + "-----\n");
    }

    private static SemaphoreClient client(String settings) {
        return SemaphoreClient.connect(server.uri("?timeout=3s" + settings));
    }

    @Test
    void aClientThatTrustsTheServersCertificateUsesTls() throws Exception {
        try (SemaphoreClient client = client("&ca=" + folder.resolve("server.crt"))) {
            client.admin().create("tls", 1);
            try (Permit permit = client.semaphore("tls").acquire(PATIENCE)) {
                assertThat(permit.slot()).isEqualTo(1);
                assertThat(server.query("SELECT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)"
                                + " WHERE a.application_name = 'semaphore'"))
                        .isNotEmpty()
                        .containsOnly("t");
            }
        }
    }

    @Test
    void aCertificateThatIsNotTrustedIsRefused() {
        try (SemaphoreClient client = client("&ca=" + folder.resolve("other.crt"))) {
            assertThatThrownBy(() -> client.admin().names())
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("SSL")
                    .hasMessageContaining("setting 'ca'");
        }
    }
}
