package io.github.distributedsemaphore.rabbitmq;

import static io.github.distributedsemaphore.rabbitmq.Rabbit.giveBack;
import static io.github.distributedsemaphore.rabbitmq.Rabbit.take;
import static io.github.distributedsemaphore.rabbitmq.Rabbit.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What becomes of permits and waiters when the broker itself changes. */
class BrokerTest {
    private final String name = Rabbit.name();
    private final SemaphoreBackend backend = Rabbit.backend("?detection=4s");
    private final SemaphoreBackend other = Rabbit.backend("?detection=4s");
    private final Rabbit.News news = new Rabbit.News();
    private final BackendSession session = backend.open(name, news);
    private final BackendSession otherSession = other.open(name, new Rabbit.News());

    @BeforeEach
    void requireOwnBroker() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        backend.admin().create(name, 2);
    }

    @AfterEach
    void cleanUp() {
        session.close();
        otherSession.close();
        backend.admin().destroy(name);
        backend.close();
        other.close();
    }

    @Test
    void aBrokerThatIsKilledKeepsTheLimitAndTheEpochsAndLosesAllHolds() {
        Hold first = takeOne(session);
        Hold second = takeOne(session);
        RabbitServer.killAndRestart();

        await().untilAsserted(() -> assertThat(news.ended).hasSize(1));
        assertThat(session.check(first)).isEqualTo(HoldState.LOST);
        assertThat(backend.admin().describe(name).orElseThrow().limit()).isEqualTo(2);
        BackendSession next = backend.open(name, new Rabbit.News());
        for (Hold old : new Hold[] {first, second}) {
            Hold hold = takeOneSoon(next);
            assertThat(hold.epoch()).isGreaterThan(Math.max(first.lastEpoch(), second.lastEpoch()));
            assertThat(hold.slot()).isEqualTo(old.slot());
        }
        assertThat(take(otherSession, 1).answers()).containsExactly(Answer.FULL);
        next.close();
    }

    /** A stream needs a while after the start, for which each attempt waits as long as it may. */
    private static Hold takeOneSoon(BackendSession session) {
        return await().atMost(Duration.ofMinutes(1))
                .ignoreException(BackendUnavailableException.class)
                .until(() -> takeOne(session), hold -> true);
    }

    @Test
    void aWaiterHearsOfACrashFromTheBrokerIfThatTellsOfQueues() throws Exception {
        assertThat(isCrashTold()).as("a hint although nobody sends any").isFalse();
        RabbitServer.plugin("enable", "rabbitmq_event_exchange");
        try {
            assertThat(isCrashTold()).isTrue();
        } finally {
            RabbitServer.plugin("disable", "rabbitmq_event_exchange");
        }
    }

    /** Whether a waiter got a hint within a second of when the slot could be had. */
    private boolean isCrashTold() throws InterruptedException {
        SemaphoreBackend crashing = Rabbit.backend("?detection=4s");
        SemaphoreBackend waiting = Rabbit.backend("?detection=4s");
        BackendSession holder = crashing.open(name, new Rabbit.News());
        BackendSession waiter = waiting.open(name, new Rabbit.News());
        try {
            takeOne(holder);
            CountDownLatch hinted = new CountDownLatch(1);
            waiter.watch(hinted::countDown);
            holder.abort();
            await().until(() -> backend.admin().describe(name).orElseThrow().free() == 2);
            return hinted.await(1, TimeUnit.SECONDS);
        } finally {
            waiter.close();
            waiting.close();
            crashing.close();
        }
    }

    @Test
    void aSemaphoreThatIsDestroyedWhileItIsHeldIsMissingAndItsHoldersGoOnUntilTheyGiveBack() {
        Hold hold = takeOne(session);
        other.admin().destroy(name);
        assertThat(session.check(hold)).isEqualTo(HoldState.RETIRED);
        assertThat(take(otherSession, 1).answers()).containsExactly(Answer.MISSING);
        assertThat(other.admin().retiredHolders(name)).isEqualTo(1);

        other.admin().create(name, 2);
        Hold free = takeOne(otherSession);
        assertThat(free.slot()).isNotEqualTo(hold.slot());
        assertThat(take(otherSession, 1).answers()).containsExactly(Answer.FULL);
        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(takeOne(otherSession).slot()).isEqualTo(hold.slot());
    }
}
