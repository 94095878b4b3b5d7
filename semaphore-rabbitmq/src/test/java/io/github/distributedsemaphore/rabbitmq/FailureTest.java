package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import org.junit.jupiter.api.Test;

/** What goes wrong becomes the declared exception, at once, and nothing is left behind. */
class FailureTest {
    private final String name = Rabbit.name();

    private void refused(String uri, Class<? extends Exception> as) {
        SemaphoreBackend backend = Rabbit.backend(uri, "");
        BackendSession session = backend.open(name, new Rabbit.News());
        assertThatThrownBy(() -> Rabbit.take(session, 1))
                .isInstanceOf(as)
                .hasMessageNotContaining("secret")
                .hasMessageContaining("127.0.0.1");
        assertThatThrownBy(() -> backend.admin().create(name, 1)).isInstanceOf(as);
        assertThatThrownBy(() -> backend.admin().describe(name)).isInstanceOf(as);
        session.close();
        backend.close();
    }

    @Test
    void noBrokerIsUnavailable() {
        refused("amqp://guest:secret@127.0.0.1:1", BackendUnavailableException.class);
    }

    @Test
    void aWrongPasswordIsAMatterOfAccess() {
        refused("amqp://guest:secret@127.0.0.1:" + RabbitServer.port(), BackendAccessException.class);
    }

    @Test
    void aMissingVirtualHostIsAMatterOfAccess() {
        refused("amqp://guest:guest@127.0.0.1:" + RabbitServer.port() + "/nowhere", BackendAccessException.class);
    }

    @Test
    void missingRightsAreAMatterOfAccess() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        RabbitServer.ctl("add_user", "stranger", "secret");
        RabbitServer.ctl("set_permissions", "stranger", "^$", "^$", "^$");
        try {
            SemaphoreBackend backend = Rabbit.backend("amqp://stranger:secret@127.0.0.1:" + RabbitServer.port(), "");
            assertThatThrownBy(() -> backend.admin().create(name, 1)).isInstanceOf(BackendAccessException.class);
            assertThatThrownBy(() -> backend.admin().describe(name)).isInstanceOf(BackendAccessException.class);
            BackendSession session = backend.open(name, new Rabbit.News());
            assertThatThrownBy(() -> Rabbit.take(session, 1)).isInstanceOf(BackendAccessException.class);
            session.close();
            backend.close();
        } finally {
            RabbitServer.ctl("delete_user", "stranger");
        }
    }

    @Test
    void underAMemoryAlarmPermitsAreStillTakenVerifiedAndGivenBack() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        SemaphoreBackend backend = Rabbit.backend("?fencing=none");
        BackendSession session = backend.open(name, new Rabbit.News());
        backend.admin().create(name, 2);
        Hold before = Rabbit.takeOne(session);
        RabbitServer.eval("rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}).");
        try {
            Hold during = Rabbit.takeOne(session);
            assertThat(Rabbit.take(session, 1).answers()).containsExactly(Answer.FULL);
            assertThat(session.check(before)).isEqualTo(HoldState.HELD);
            assertThat(Rabbit.giveBack(session, before, during).lost()).isEmpty();
            assertThat(backend.admin().describe(name).orElseThrow().free()).isEqualTo(2);
        } finally {
            RabbitServer.eval("rabbit_alarm:clear_alarm({resource_limit, memory, node()}).");
        }
        session.close();
        backend.admin().destroy(name);
        backend.close();
    }
}
