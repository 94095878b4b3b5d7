package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import io.github.distributedsemaphore.rabbitmq.Waiters.Offer;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.spi.BackendSession;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** When a client that waits beside a thousand others looks for a free slot. */
class WaitersTest {
    private static final int CROWD = 1_000;
    private static final int OCCASIONS = 100;

    private final QueueNames names = new QueueNames(Rabbit.name());
    private final RabbitBackend backend = (RabbitBackend) Rabbit.backend("");
    private final Waiters waiters = new Waiters(backend.connections(), backend.probes(), backend.mailbox(), names);
    private final AtomicInteger hints = new AtomicInteger();
    private Connection connection;
    private Channel crowd;
    private BackendSession.Watch watch;

    @BeforeEach
    void waitBehindOthers() throws Exception {
        watch = waiters.watch(hints::incrementAndGet, CallBudget.of("a test", Duration.ofSeconds(5)));
        connection = Rabbit.connection();
        crowd = connection.createChannel();
        // Messages go to these, never to the client of the test.
        Map<String, Object> first = Map.of("x-priority", 10);
        for (int i = 0; i < CROWD; i++) {
            crowd.basicConsume(names.waiters(), true, first, (tag, message) -> {}, tag -> {});
        }
        await("the crowd is counted").until(() -> {
            waiters.missed();
            return waiters.areMany();
        });
        assertThat(waiters.mayLook()).as("its first look").isTrue();
        lookInVain();
    }

    private void lookInVain() {
        waiters.lookBegins(0);
        waiters.refused(false);
    }

    @AfterEach
    void leave() throws Exception {
        watch.close();
        connection.close();
        backend.close();
    }

    /** It cannot use a slot that was offered, and so what it last saw may not be so any more. */
    private boolean looksAfter(int hops) {
        assertThat(waiters.mayLook()).as("before its time").isFalse();
        waiters.passOn(new Offer(1, hops));
        boolean looks = waiters.mayLook();
        lookInVain();
        return looks;
    }

    @Test
    void mostLooksAreLeftOutButNotAll() {
        int looks = 0;
        for (int i = 0; i < OCCASIONS; i++) {
            looks += looksAfter(0) ? 1 : 0;
        }
        // Thirteen are to be expected; 40 or more in one of a billion runs.
        assertThat(looks).isLessThan(40);
        await("a look")
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(1))
                .until(() -> looksAfter(0));
    }

    @Test
    void whoGetsAnOfferThatIsPassedOnNoMoreLooks() {
        assertThat(looksAfter(3)).isTrue();
    }

    @Test
    void whoHearsThatTheSemaphoreChangedLooks() {
        waiters.lookNow();
        assertThat(hints).hasPositiveValue();
        assertThat(waiters.mayLook()).isTrue();
    }

    /** The news may come while a look is under way, which may have been too early for it. */
    @Test
    void whoHearsItDuringALookLooksOnceMore() {
        waiters.lookBegins(0);
        waiters.lookNow();
        waiters.refused(false);
        assertThat(waiters.mayLook()).isTrue();
        lookInVain();
        assertThat(waiters.mayLook()).isFalse();
    }

    /** A release of the same client leaves others a turn, and no more. */
    @Test
    void whoHearsItAndReleasesLooksAfterTheTurnOfTheOthers() {
        waiters.released(List.of(1));
        waiters.lookNow();
        waiters.released(List.of(1));
        assertThat(waiters.nextLook().remaining()).isLessThan(Duration.ofMillis(100));
        await().until(() -> waiters.nextLook().isPast(System.nanoTime()));
        assertThat(waiters.mayLook()).isTrue();
    }

    /** Somebody else collected several slots just then, so this was no look. */
    @Test
    void whoWasPostponedLooksSoon() {
        for (int i = 0; i < OCCASIONS; i++) {
            waiters.lookBegins(0);
            waiters.refused(true);
            await().pollInterval(Duration.ofMillis(1))
                    .until(() -> waiters.nextLook().isPast(System.nanoTime()));
            assertThat(waiters.mayLook()).isTrue();
        }
    }

    @Test
    void whoseLookFailsLooksAgain() {
        waiters.lookBegins(0);
        waiters.lookFailed(List.of(new Offer(1, 0)));
        assertThat(waiters.mayLook()).isTrue();
    }

    /** A slot that goes round among its own callers would keep them from all others. */
    @Test
    void whoIsOfferedSlotsAllTheTimeLooksAtAllOfThemNowAndThenUnlessInACrowd() throws Exception {
        assertThat(waiters.lookBegins(1)).isOne();
        crowd.close();
        await("the crowd is gone").atMost(Duration.ofMinutes(1)).until(() -> {
            waiters.refused(false);
            return !waiters.areMany();
        });
        await("a look at all of them").until(() -> waiters.lookBegins(1) == 0);
        await("a look at what was offered").until(() -> waiters.lookBegins(1) == 1);
        await("the next look at all of them").until(() -> waiters.lookBegins(1) == 0);
    }

    @Test
    void whoFindsTheOthersGoneLooksAtOnce() throws Exception {
        crowd.close();
        hints.set(0);
        await("the broker counts them no more").atMost(Duration.ofMinutes(1)).until(() -> {
            waiters.refused(false);
            return hints.get() > 0;
        });
        assertThat(waiters.areMany()).isFalse();
        assertThat(waiters.mayLook()).isTrue();
    }
}
