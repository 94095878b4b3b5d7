package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
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

    private void refused(String uri, String settings) {
        try (SemaphoreBackend backend = Rabbit.backend(uri, settings)) {
            assertThatThrownBy(() -> backend.admin().create(name, 1))
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("certificate")
                    .hasMessageContaining("ca");
        }
    }
}
