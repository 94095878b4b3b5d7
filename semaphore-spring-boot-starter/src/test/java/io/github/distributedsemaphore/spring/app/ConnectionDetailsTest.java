package io.github.distributedsemaphore.spring.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spring.CurrentPermit;
import io.github.distributedsemaphore.spring.WithPermit;
import io.github.distributedsemaphore.spring.boot.SemaphoreConnectionDetails;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/** The client finds real servers by Spring Boot's own properties, with credentials, sentinels and SSL bundles. */
final class ConnectionDetailsTest {
    private static final String PASSWORD = "p@ss/word";

    @TempDir
    private Path folder;

    private Servers servers;

    @BeforeEach
    void begin() {
        servers = new Servers(folder);
    }

    @AfterEach
    void end() {
        servers.close();
    }

    @EnableAutoConfiguration
    static class App {
        @Bean
        Exports exports() {
            return new Exports();
        }
    }

    static class Exports {
        @WithPermit("exports")
        public int export() {
            return CurrentPermit.require("exports").slot();
        }
    }

    private static ConfigurableApplicationContext start(String server, String... properties) {
        List<String> all = new ArrayList<>(List.of(
                "--spring.autoconfigure.exclude=" + Processes.withoutOther(server),
                "--distributed-semaphore.semaphores.exports.limit=3"));
        Collections.addAll(all, properties);
        return new SpringApplicationBuilder(App.class)
                .web(WebApplicationType.NONE)
                .run(all.toArray(String[]::new));
    }

    /** Runs the application, and looks at the server by a client of its own. */
    private static void assertExports(String server, String observed, String... properties)
            throws InterruptedException {
        try (ConfigurableApplicationContext context = start(server, properties);
                SemaphoreClient observer = SemaphoreClient.connect(observed)) {
            assertThat(context.getBean(Exports.class).export()).isEqualTo(1);
            try (var held =
                    context.getBean(SemaphoreClient.class).semaphore("exports").acquire()) {
                assertThat(held.isValid()).isTrue();
                assertThat(observer.admin().status("exports").orElseThrow().free())
                        .isEqualTo(2);
            }
        }
    }

    private static String[] bundle(Servers.Identity identity) {
        return new String[] {
            "--spring.ssl.bundle.pem.server.truststore.certificate=file:" + identity.authority(),
            "--spring.ssl.bundle.pem.server.keystore.certificate=file:" + identity.certificate(),
            "--spring.ssl.bundle.pem.server.keystore.private-key=file:" + identity.key()
        };
    }

    private static String[] with(String[] some, String... more) {
        List<String> all = new ArrayList<>(List.of(some));
        Collections.addAll(all, more);
        return all.toArray(String[]::new);
    }

    @Test
    void redisWithAPasswordAndADatabase() throws Exception {
        int port = servers.redis("--requirepass", PASSWORD);

        assertExports(
                "redis",
                "redis://:p%40ss%2Fword@127.0.0.1:" + port + "/2",
                "--spring.data.redis.host=127.0.0.1",
                "--spring.data.redis.port=" + port,
                "--spring.data.redis.database=2",
                "--spring.data.redis.password=" + PASSWORD);
    }

    @Test
    void redisByItsSentinel() throws Exception {
        int port = servers.redis("--requirepass", PASSWORD);
        int sentinel = servers.sentinel(port, PASSWORD);

        assertExports(
                "redis",
                "redis://:p%40ss%2Fword@127.0.0.1:" + port,
                "--spring.data.redis.sentinel.master=main",
                "--spring.data.redis.sentinel.nodes=127.0.0.1:" + sentinel,
                "--spring.data.redis.password=" + PASSWORD);
    }

    /** The server asks for a certificate too, so that the bundle's key is used. */
    @Test
    void redisWithAnSslBundle() throws Exception {
        Servers.Identity identity = servers.identity();
        int plain = servers.port();
        int port = servers.encryptedRedis(plain, identity);
        String[] address = {"--spring.data.redis.host=127.0.0.1", "--spring.data.redis.port=" + port};

        assertExports(
                "redis",
                "redis://127.0.0.1:" + plain,
                with(bundle(identity), with(address, "--spring.data.redis.ssl.bundle=server")));
        assertNotTrusted("redis", with(address, "--spring.data.redis.ssl.enabled=true"));
        assertNotTrusted("redis", "--spring.data.redis.url=rediss://127.0.0.1:" + port);
    }

    @Test
    void rabbitWithAndWithoutAnSslBundle() throws Exception {
        Servers.Identity identity = servers.identity();
        int encrypted = servers.port();
        int port = servers.rabbit(encrypted, identity);
        String observed = "amqp://guest:guest@127.0.0.1:" + port;

        assertExports("rabbit", observed, "--spring.rabbitmq.host=127.0.0.1", "--spring.rabbitmq.port=" + port);
        assertExports(
                "rabbit",
                observed,
                with(
                        bundle(identity),
                        "--spring.rabbitmq.addresses=amqps://guest:guest@127.0.0.1:" + encrypted,
                        "--spring.rabbitmq.ssl.bundle=server"));
        assertNotTrusted("rabbit", "--spring.rabbitmq.addresses=amqps://127.0.0.1:" + encrypted);
    }

    /** A plain connection would fail too, but not for the certificate: it would show the password before. */
    private static void assertNotTrusted(String server, String... properties) {
        assertThatThrownBy(() -> start(server, properties)).hasStackTraceContaining("PKIX path building failed");
    }

    @Test
    void hostsMayBeIpv6Addresses() {
        assertThat(uri("redis", "--spring.data.redis.host=::1")).isEqualTo("redis://[::1]:6379/0");
        assertThat(uri("redis", "--spring.data.redis.host=[::1]")).isEqualTo("redis://[::1]:6379/0");
        assertThat(uri(
                        "redis",
                        "--spring.data.redis.sentinel.master=main",
                        "--spring.data.redis.sentinel.nodes=::1:26379,[::2]:26379,a:26379"))
                .isEqualTo("redis-sentinel://[::1]:26379,[::2]:26379,a:26379/0?master=main");
        assertThat(uri("redis", "--spring.data.redis.cluster.nodes=::1:7001,[::2]:7002"))
                .isEqualTo("redis-cluster://[::1]:7001,[::2]:7002");
        assertThat(uri("rabbit", "--spring.rabbitmq.host=[::1]")).isEqualTo("amqp://[::1]:5672");
        assertThat(uri("rabbit", "--spring.rabbitmq.addresses=[::1]:5673,b:5674"))
                .isEqualTo("amqp://[::1]:5673,b:5674");
    }

    /** The client of the application has taken it by then, without a connection. */
    private static String uri(String server, String... properties) {
        String[] all = with(
                properties,
                "--spring.autoconfigure.exclude=" + Processes.withoutOther(server),
                "--spring.main.web-application-type=none");
        try (ConfigurableApplicationContext context = new SpringApplicationBuilder(App.class).run(all)) {
            return context.getBean(SemaphoreConnectionDetails.class).uri();
        }
    }

    @Test
    void whatHasNoCounterpartIsRefused(@TempDir Path folder) throws Exception {
        Path store = folder.resolve("trusted.p12");
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        try (OutputStream out = Files.newOutputStream(store)) {
            trusted.store(out, "secret".toCharArray());
        }
        String[] encrypted = {
            "--spring.rabbitmq.ssl.enabled=true",
            "--spring.rabbitmq.ssl.trust-store=file:" + store,
            "--spring.rabbitmq.ssl.trust-store-type=PKCS12",
            "--spring.rabbitmq.ssl.trust-store-password=secret"
        };
        assertThatThrownBy(() -> start("rabbit", encrypted))
                .hasStackTraceContaining("name them in a bundle below spring.ssl.bundle");
        // A client of another server needs no counterpart.
        try (ConfigurableApplicationContext context =
                start("rabbit", with(encrypted, "--distributed-semaphore.uri=memory:" + UUID.randomUUID()))) {
            assertThat(context.getBean(Exports.class).export()).isEqualTo(1);
        }
        assumeThat(SpringBootVersion.getVersion())
                .as("3.5 has no such property")
                .startsWith("4.");
        assertThatThrownBy(() -> start("redis", "--spring.data.redis.masterreplica.nodes=a:1,b:2"))
                .hasStackTraceContaining("neither to one server nor to sentinels nor to a cluster");
    }
}
