package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.TlsSettings;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Connections over TLS: to whom the certificate shows, and to nobody else. */
class TlsTest {
    private final String name = Rabbit.name();

    @BeforeEach
    void requireOwnBroker() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
    }

    private static String uri(String host) {
        return "amqps://guest:guest@" + host + ":" + RabbitServer.tlsPort();
    }

    @Test
    void whoTrustsTheCertificateTakesAndGivesBack() {
        try (SemaphoreBackend backend = Rabbit.backend(uri("127.0.0.1"), "?ca=" + RabbitServer.certificate())) {
            backend.admin().create(name, 1);
            BackendSession session = backend.open(name, new Rabbit.News());
            Hold hold = Rabbit.takeOne(session);
            assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
            session.close();
            backend.admin().destroy(name);
        }
    }

    @Test
    void aCertificateThatNobodyVouchesForIsRefused() {
        refused(uri("127.0.0.1"), "");
    }

    @Test
    void aCertificateForAnotherHostIsRefused() {
        refused(uri("localhost"), "?ca=" + RabbitServer.certificate());
    }

    /** A broker that goes down, or a load balancer without one, shows no certificate that could be wrong. */
    @Test
    void aLinkThatEndsDuringTheHandshakeIsNoRefusal() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            CompletableFuture<?> client = CompletableFuture.runAsync(() -> connectTo(server, ""));
            try (Socket socket = server.accept()) {
                assertThat(socket.getInputStream().read()).isNotNegative();
                // Else what was not read would make it a reset.
                socket.shutdownOutput();
                assertThat(client)
                        .failsWithin(20, TimeUnit.SECONDS)
                        .withThrowableThat()
                        .withCauseInstanceOf(BackendUnavailableException.class);
            }
        }
    }

    @Test
    void aClientWithACertificateShowsIt() throws Exception {
        String settings = "?ca=" + RabbitServer.certificate() + "&certificate=" + RabbitServer.certificate() + "&key="
                + RabbitServer.key();
        SSLContext context = TlsSettings.from(
                        BackendUri.parse(uri("127.0.0.1") + settings), /* encrypted */ true, "amqps")
                .orElseThrow()
                .context();
        try (SSLServerSocket server = (SSLServerSocket)
                context.getServerSocketFactory().createServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            server.setNeedClientAuth(true);
            CompletableFuture<?> client = CompletableFuture.runAsync(() -> connectTo(server, settings));
            try (SSLSocket socket = (SSLSocket) server.accept()) {
                assertThat(socket.getSession().getPeerCertificates()).hasSize(1);
            }
            assertThat(client).failsWithin(20, TimeUnit.SECONDS);
        }
    }

    private static void connectTo(ServerSocket server, String settings) {
        try (SemaphoreBackend backend =
                Rabbit.backend("amqps://guest:guest@127.0.0.1:" + server.getLocalPort(), settings)) {
            backend.ping();
        }
    }

    @Test
    void managersAndCredentialsOfTheApplicationServeAsFilesDo() throws Exception {
        TrustManagerFactory trust = TlsSettings.from(
                        BackendUri.parse("amqps://h?ca=" + RabbitServer.certificate()), /* encrypted */ true, "amqps")
                .flatMap(TlsSettings::trust)
                .orElseThrow();
        String uri = "amqps://127.0.0.1:" + RabbitServer.tlsPort();
        try (SemaphoreClient client = SemaphoreClient.builder(uri)
                .credentials("guest", "guest")
                .trustManagers(trust)
                .connect()) {
            client.ping(Duration.ofSeconds(10));
        }
        assertThatThrownBy(() -> SemaphoreClient.builder(uri + "?ca=" + RabbitServer.certificate())
                        .trustManagers(trust)
                        .connect())
                .hasMessageContainingAll("'ca'", "managers");
        assertThatThrownBy(() -> SemaphoreClient.builder("amqp://127.0.0.1:1")
                        .trustManagers(trust)
                        .connect())
                .hasMessageContainingAll("managers", "amqps:");
        try (SemaphoreClient wrong = SemaphoreClient.builder(uri)
                .credentials("guest", "p@ss/word")
                .trustManagers(trust)
                .connect()) {
            assertThatThrownBy(() -> wrong.ping(Duration.ofSeconds(10))).isInstanceOf(BackendAccessException.class);
        }
    }

    @Test
    void filesForTlsAreCheckedAtOnce() {
        wrong("amqps", "?certificate=" + RabbitServer.certificate(), "belong together");
        wrong("amqp", "?ca=" + RabbitServer.certificate(), "amqps:");
        wrong("amqps", "?ca=/nowhere", "'ca'");
        String certificate = "?certificate=" + RabbitServer.certificate();
        wrong("amqps", certificate + "&key=" + RabbitServer.certificate(), "PRIVATE KEY");
    }

    private static void wrong(String scheme, String settings, String said) {
        assertThatThrownBy(() -> Rabbit.backend(scheme + "://127.0.0.1:1", settings))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(said);
    }

    private void refused(String uri, String settings) {
        try (SemaphoreBackend backend = Rabbit.backend(uri, settings)) {
            assertThatThrownBy(() -> backend.admin().create(name, 1))
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("certificate")
                    .hasMessageContaining("ca");
        }
    }
}
